"""The built-in kinds by API group: defaults, validation, preparation, status rules, tables. No I/O."""
