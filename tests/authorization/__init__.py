"""Who may do what, shown: the judge beside a reference, and each API's checks beside Kafka's."""
