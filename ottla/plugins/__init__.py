"""What a plug-in of the broker is written against: abstract classes, and the words they use.

A setting that names a Java class in Kafka takes `package.module:Class` here. `docs/security.md` has
an example of each. Only the standard library is imported.

    ottla.plugins.authorizer   Authorizer: who may do what
    ottla.plugins.principal    PrincipalBuilder: who is at the other end of a connection
    ottla.plugins.logins       PasswordCheck, ScramCredentials, TokenCheck: who gets in
    ottla.plugins.policies     CreateTopicPolicy, AlterConfigPolicy: what is refused to everybody
    ottla.plugins.interceptor  ProduceInterceptor: which records are refused
    ottla.plugins.quotas       ClientQuotaCallback: who shares which quota
    ottla.plugins.assignor     ConsumerGroupAssignor: who consumes what in a group
"""
