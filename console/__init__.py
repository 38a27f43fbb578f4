"""`ottla console`: a web page that shows a cluster, served by a process of its own.

The console is a client of Ottla or Apache Kafka like any other command, with a login of its own.
`segments` also reads the files of nodes on this machine, and `flow` their traces, if `--data` names
their folders and the cluster allows this to the login. Each view has a folder; `static` is the
page.
"""
