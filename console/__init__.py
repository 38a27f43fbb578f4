"""`ottla console`: a web page in which a cluster is looked at; a process of its own.

A client of the cluster like any other command, of Ottla and of Apache Kafka: what it shows comes
through the cluster's answers under its own login. Files of a node are read where its operator names
them, and a record's way where that node keeps traces (`segments`, `flow`), after the cluster was
asked whether that login may know. A folder for each view; `static` is the page.
"""
