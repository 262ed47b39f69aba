"""The relay as the controller of MultiKueue's AdmissionChecks, on a management cluster where Kueue admits.

Kueue queues the objects, reserves quota and suspends or resumes them; the relay places those whose check is pending.

    objects      the Workloads, AdmissionChecks and MultiKueueConfigs of the management cluster, watched
    views        what decisions need of them
    claims       whether the relay or Kueue itself is the controller of a check
    gate         the answer of the relay's `AdmissionGate` for one original
    decide       what to write to a Workload: a pure function
    controller   carries that out
    checks       the condition of each check
"""
