"""`ottla migrate check`: what stands against replacing a cluster's nodes by nodes of Ottla.

The command line around `client.migration.reading` (the requests) and `client.migration.check` (the
verdict). Changes nothing in the cluster.
"""

from __future__ import annotations

import time

import click

from client.cluster import ClusterClient
from client.migration.check import as_objects, findings_of, is_ready, report
from client.migration.reading import read_cluster
from client.refusals import EXIT_REFUSED_BY_CLUSTER
from command.admin.options import with_bootstrap_server, with_command_config, with_json
from command.help_pages.command_group import CommandGroup
from command.output import echo_json, echo_lines


@click.group(cls=CommandGroup)
def migrate() -> None:
    """Check whether Ottla can take over the nodes of an Apache Kafka cluster.

    \b
    ottla migrate check -b kafka-1:9092 --command-config admin.properties
    """


@migrate.command("check")
@with_bootstrap_server
@with_command_config
@with_json
def check(bootstrap_server: str, command_config: str | None, as_json: bool) -> None:
    """Read a cluster of Apache Kafka 4.3 or 4.4, and say what Ottla would refuse or ignore.

    Run it before you replace the nodes of a cluster by nodes of Ottla, one at a time, in place. It
    changes nothing. Each line is a finding: its severity, where, what, and after -> what to do.

    \b
    REFUSED  Ottla does not start with it, or rejects or does not serve it
    UNKNOWN  this release of Ottla has never heard of it
    WAIT     the cluster must leave this state first
    UNREAD   the check could not read it, for lack of a right or an answer
    IGNORED  Ottla runs with it, but it has no effect there

    The last line has the numbers of findings. The exit code is 0 if there are only IGNORED
    findings, 1 if there are others, 2 if no broker answered. The login needs Describe and
    DescribeConfigs on the cluster and on all topics, groups and transactional ids. A cluster hides
    the values of secrets and of plug-ins' own keys, so they are not checked.

    \b
    ottla migrate check -b kafka-1:9092
    ottla migrate check -b kafka-1:9092 --command-config admin.properties --json
    """
    with ClusterClient(bootstrap_server, command_config, advises_start=False) as cluster:
        contents = read_cluster(cluster, time.time_ns() // 1_000_000)
    findings = findings_of(contents)
    if as_json:
        for value in as_objects(contents, findings):
            echo_json(value)
    else:
        echo_lines(report(contents, findings), "green" if is_ready(findings) else "red")
    if not is_ready(findings):
        raise click.exceptions.Exit(EXIT_REFUSED_BY_CLUSTER)
