"""The abstract classes that plug-ins of the broker extend, and the types of their arguments.

Where a setting of Kafka names a Java class, Ottla's takes `package.module:Class`.
`docs/security.md` has an example of each. These modules import only the standard library.

    ottla.plugins.authorizer   Authorizer: which principals may do what
    ottla.plugins.principal    PrincipalBuilder: which principal a connection has
    ottla.plugins.logins       PasswordCheck, ScramCredentials, TokenCheck: which logins succeed
    ottla.plugins.policies     CreateTopicPolicy, AlterConfigPolicy: rejected topics and configs
    ottla.plugins.interceptor  ProduceInterceptor: rejected records
    ottla.plugins.quotas       ClientQuotaCallback: which clients share a quota
    ottla.plugins.assignor     ConsumerGroupAssignor: which partitions each group member has
"""
