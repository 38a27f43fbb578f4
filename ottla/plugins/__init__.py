"""What a plug-in of the broker is written against: abstract classes, and the words they use.

A setting that names a Java class in Kafka takes `package.module:Class` here. `docs/security.md` has
an example of each. Only the standard library is imported.
"""

from ottla.plugins.authorizer import (
    Action,
    Asker,
    Authorizer,
    Operation,
    Resource,
)

__all__ = ["Action", "Asker", "Authorizer", "Operation", "Resource"]
