"""The kinds of certificates.k8s.io: CertificateSigningRequests."""

from jobrelay.kinds.certificates.signingrequests import STRATEGIES

__all__ = ["STRATEGIES"]
