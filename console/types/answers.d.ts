// Written by tests/tools/answer_types.py from the dataclasses of the console's endpoints.
// Change those, and write it anew by `python -m tests.tools.answer_types`.

declare namespace Answer {
  /** The effect of an abort: carried out if `aborted`, otherwise a preview. `transactional_id` is
   * None for a hanging transaction, which a marker aborts. */
  interface AbortPlan {
    aborted: boolean;
    transactional_id: string | null;
    producer_id: number;
    epoch: number;
    started_ms: number | null;
    partitions: WaitingPartition[];
  }

  /** An aborted transaction, an entry of a `.txnindex`. */
  interface AbortedTransaction {
    producerId: number;
    firstOffset: number;
    lastOffset: number;
    lastStableOffset: number;
  }

  /** The aborted transactions that end in a segment; None if the `.txnindex` is damaged. */
  interface AbortedTransactions {
    aborted: AbortedTransaction[] | null;
  }

  /** The console's own options that the page uses; `local` are the folders of `--data`. */
  interface About {
    bootstrap: string;
    writes: boolean;
    local: string[];
  }

  /** The users of a cluster, their rights and quotas, and the choices of the forms. */
  interface Access {
    users: AccessRows | NoAccessRows;
    acls: AccessRows | NoAccessRows;
    quotas: AccessRows | NoAccessRows;
    tokens: AccessRows | NoAccessRows;
    choices: AccessChoices;
  }

  /** The choices of the forms: operations by resource, and the bounds of iterations. */
  interface AccessChoices {
    operations: Record<string, string[]>;
    patterns: string[];
    permissions: string[];
    mechanisms: string[];
    iterations: [number, number];
  }

  /** A part with its first rows. `count` rows contain the word of the search, `of` there are. */
  interface AccessRows {
    columns: string[];
    rows: unknown[][];
    count: number;
    of: number;
  }

  /** A batch with a page of its records. `packed` is its size in the file, `unpacked` the size of
   * its decompressed body. */
  interface BatchOpened {
    batch: BatchShown;
    packed: number;
    codec: string;
    first: number;
    count: number;
    records: BatchRecord[];
    damage: string | null;
    unpacked: number;
  }

  /** A batch, with no more than indexes contain: this needs no right to read the topic. */
  interface BatchPlace {
    position: number;
    size: number;
    baseOffset: number;
    lastOffset: number;
    maxTimestamp: number;
  }

  /** A record of a batch; `start` is its position in the decompressed body. `headersCount` counts
   * all headers, `headers` has the first ones. */
  interface BatchRecord {
    number: number;
    start: number;
    size: number;
    offset: number;
    timestamp: number;
    headers: ([Content | null, Content | null])[];
    headersCount: number;
    key: Content | null;
    value: Content | null;
    control?: ControlShown;
  }

  /** A batch's header in the words of `ottla dump-log`; `isvalid` is None for an unchecked CRC. */
  interface BatchShown {
    baseOffset: number;
    lastOffset: number;
    count: number;
    baseSequence: number;
    lastSequence: number;
    producerId: number;
    producerEpoch: number;
    partitionLeaderEpoch: number;
    isTransactional: boolean;
    isControl: boolean;
    deleteHorizonMs: number | null;
    position: number;
    size: number;
    magic: number;
    compresscodec: string;
    crc: number;
    isvalid: boolean | null;
    maxTimestamp: number;
    timestampType: "CreateTime" | "LogAppendTime";
  }

  /** A page of batches from byte `at` on, with the places of the next and previous page. */
  interface BatchesPage {
    batches: BatchShown[];
    at: number;
    next: number | null;
    previous: number | null;
    damage: string | null;
    size?: number;
  }

  /** A part of an attributes field: the numbers of its bits, of which 0 is the lowest. */
  interface BitsShown {
    bits: string;
    name: string;
    value: string;
    raw: string;
    note: string;
  }

  /** A broker of the cluster. */
  interface BrokerHealth {
    id: number;
    host: string;
    port: number;
    rack: string | null;
    alive: boolean;
    controller: boolean;
  }

  /** The write rates of a topic; `spark`: records per second in the last samples. */
  interface BusyTopic {
    topic: string;
    records_per_s: number | null;
    bytes_per_s: number | null;
    partitions: number;
    records: number;
    bytes: number | null;
    spark: (number | null)[];
  }

  /** The bytes of a batch's header or of a record, from byte `from` on, with their fields. `at` is
   * the position in the file, or in the decompressed body if `inUnpacked` is set. */
  interface BytesNamed {
    what: "header" | "record";
    at: number;
    size: number;
    from: number;
    base64: string;
    fields: FieldShown[];
    varint: string;
    crcIsRight?: boolean;
    inUnpacked?: boolean;
    offset?: number;
  }

  /** Bytes as `text` if they are UTF-8, else as `base64`. `size` is in bytes; `cut` is true if this
   * is only the beginning. */
  interface BytesShown {
    size: number;
    text?: string;
    base64?: string;
    cut?: boolean;
  }

  /** The number of records in each run of `width` offsets. */
  interface Cells {
    width: number;
    records: number[];
  }

  /** A change of configs: `changed` is false if it was only checked. `warnings` are sentences about
   * what a checked change deletes. */
  interface ChangedConfigs {
    changed: boolean;
    resource: string;
    warnings: string[];
  }

  /** A topic that was changed or deleted. */
  interface ChangedTopic {
    topic: string;
  }

  /** The health of the cluster: its brokers, its controller, and partitions in trouble. */
  interface ClusterHealth {
    healthy: boolean;
    verdict: string;
    cluster_id: string;
    brokers: BrokerHealth[];
    controller: number | null;
    epoch: number | null;
    topics: number;
    partitions: number;
    offline: number;
    under_min_isr: number;
    under_replicated: number;
  }

  /** A committed offset of a group. */
  interface CommittedPartition {
    topic: string;
    partition: number;
    committed: number;
  }

  /** The progress of compaction in a log; the limits are those of its configs. */
  interface CompactionShown {
    firstDirty: number;
    wasCleaned: boolean;
    firstUncleanable: number;
    cleanBytes: number;
    dirtyBytes: number;
    laterBytes: number;
    ratio: number;
    ratioMin: number;
    isOverdue: boolean;
    isDue: boolean;
    records: number;
    offsets: number;
    isWhole: boolean;
    tombstones: number | null;
    batchesWithHorizon: number;
    horizons: [number, number] | null;
    deleteRetention: number;
  }

  /** The names of the resources that have configs, by kind. `absent` has the reason why a kind has
   * no names. */
  interface ConfigResources {
    broker: string[];
    topic: string[];
    group: string[];
    "client-metrics": string[];
    absent: Record<string, string>;
  }

  /** A config. `by_ottla`: the documentation is Ottla's. */
  interface ConfigRow {
    key: string;
    value: string | null;
    secret: boolean;
    source: string;
    is_default: boolean;
    read_only: boolean;
    type: string;
    documentation: string | null;
    by_ottla: boolean;
    synonyms: ConfigSynonym[];
  }

  /** A value of a config that another value overrides. */
  interface ConfigSynonym {
    key: string;
    value: string | null;
    source: string;
  }

  /** All configs of a resource. */
  interface Configs {
    kind: string;
    name: string;
    rows: ConfigRow[];
  }

  /** A preview of a key, value or header: one of `json`, `words`, `text`, else `base64`. `json` and
   * `words` come from a decoder. `size` counts the bytes, or the characters of a decoded value;
   * some `words` have none. `cut` says that the content is longer. */
  interface Content {
    size?: number;
    cut?: boolean;
    text?: string;
    base64?: string;
    words?: string;
    json?: any;
  }

  /** The fields of a control record, or its damage. */
  interface ControlShown {
    endTxnMarker?: string;
    coordinatorEpoch?: number;
    controlType?: string | number;
    damaged?: string;
  }

  /** A producer snapshot that cannot be read, with the reason. */
  interface DamagedSnapshot {
    damage: string;
  }

  /** The key and value of a record as a schema decodes them, or the reason why it does not. */
  interface DecodedRecord {
    schema?: string;
    key?: BytesShown;
    value?: BytesShown;
    problem?: string;
  }

  /** The committed offsets of a group: deleted with it if `deleted`, otherwise a preview. */
  interface DeletedGroup {
    deleted: boolean;
    rows: CommittedPartition[];
  }

  /** Records with the same state; `deliveries` None: no delivery has ended yet. */
  interface DeliveredRange {
    topic: string;
    partition: number;
    first: number;
    last: number;
    state: string;
    deliveries: number | null;
  }

  /** The density of an offset index; `share` is its size relative to the segment's. */
  interface Density {
    entries: number;
    perMiB: number;
    bytesBetween: number;
    share: number;
  }

  /** A log directory on this machine; addresses name it by `key`. */
  interface DirectoryShown {
    key: string;
    path: string;
    node: number;
  }

  /** A change that was made, as a sentence. */
  interface Done {
    done: string;
  }

  /** A leader epoch and its first offset. */
  interface EpochStart {
    epoch: number;
    start: number;
  }

  /** The progress of an export. `ended`: "limit" if the file may lack records, because it has
   * reached `records_max` or `bytes_max`. */
  interface ExportStatus {
    records: number;
    bytes: number;
    records_max: number;
    bytes_max: number;
    ended?: "end" | "limit" | "failed";
    error?: string;
  }

  /** The deletion of a segment by retention: the reason `why`, and the time. `at` is None if the
   * segment stays or the time is unknown. `waitsFor` is the base offset of an older segment that
   * must go first. `grows` is the growth of the log after which the segment goes by size. */
  interface FateShown {
    why: string;
    at: number | null;
    due: boolean;
    waitsFor: number | null;
    grows: number | null;
  }

  /** A feature: its finalized level, and the lowest and highest level that a broker supports.
   * `called` is the name of the level, such as 4.0-IV3, if it has one. */
  interface Feature {
    name: string;
    level: number;
    called: string | null;
    least: number | null;
    most: number | null;
  }

  /** The features of the cluster by name, finalized at the metadata offset `epoch`. */
  interface Features {
    epoch: number | null;
    rows: Feature[];
  }

  /** A field: the bytes from `start` up to but without `end`. `value` is a text for a number that
   * JavaScript cannot represent. `zigzag` is the number in a varint before decoding. */
  interface FieldShown {
    name: string;
    type: string;
    start: number;
    end: number;
    value: number | string | null;
    meaning: string;
    time_ms: number | null;
    bits: BitsShown[];
    zigzag: number | null;
    note: string;
    hidden?: boolean;
  }

  /** An event of the stream while no broker answers. */
  interface FlowFailed {
    error: string;
  }

  /** New traces and followers' copies in the form of the brokers, and the state of each node. */
  interface FlowNews {
    nodes: TracingNode[];
    traces: Record<string, any>[];
    copies: Record<string, any>[];
  }

  /** The local nodes and the topics of the page. `why` is the reason if `nodes` is empty. */
  interface FlowStart {
    why: string | null;
    nodes: number[];
    brokers: number;
    topics: FlowTopic[];
  }

  /** A topic to which the page can send a test record; `replicas` is its replication factor. */
  interface FlowTopic {
    name: string;
    partitions: number;
    replicas: number;
  }

  /** The lag of a group over the last hour: the sum, and the partitions with the most lag. `kept`
   * is the number of partitions that have samples, `kept_most` its limit. */
  interface GroupLag {
    times_ms: number[];
    total: (number | null)[];
    partitions: LagLine[];
    kept: number;
    kept_most: number;
  }

  /** A page of the groups whose names match. `count` is the number of groups that match, `of` of
   * all groups. `hides_some`: the login sees only the groups that it may describe. */
  interface GroupList {
    groups: GroupRow[];
    count: number;
    of: number;
    lagging: number;
    states: Record<string, number>;
    hides_some: boolean;
    watched: Watched;
  }

  /** A member, the partitions assigned to it, and its target assignment (KIP-848). */
  interface GroupMember {
    id: string;
    name: string;
    host: string;
    instance: string | null;
    protocol: string | null;
    epoch: number | null;
    partitions: [string, number][];
    target: [string, number][] | null;
  }

  /** A partition of a group, with its offset and lag. `committed` is the start offset of a share
   * group. `readers` are the indexes of its members: at most one, except in a share group. `held`:
   * the records of a partition without a commit. `unread_at`: the offset of the next record, None
   * if there is no lag. */
  interface GroupPartition {
    topic: string;
    partition: number;
    committed: number | null;
    end: number | null;
    lag: number | null;
    held: number | null;
    readers: number[];
    since: string;
    late: boolean;
    since_ms: number | null;
    unread_at: number | null;
    unread_ms: number | null;
  }

  /** A row of the list of groups. `members` is None if the login may not see them, or if the
   * console does not know this type of group. `lag` is the sum of the known lags, None if no lag is
   * known. */
  interface GroupRow {
    group: string;
    state: string;
    type: string;
    protocol: string;
    coordinator: number;
    members: number | null;
    lag: number | null;
    partitions_without_lag: number;
    uncommitted: WithoutCommit;
    spark: (number | null)[];
    since_ms: number | null;
    since: string;
  }

  /** The page of a group. `unserved`: why the page has no members of the group, or nothing but its
   * row of the list. `keeps_up` is true if the samples show it, or if the group has read all
   * records. `operations`: those that the login may do on the group, None if the broker does not
   * report them. `share` is None if the group is no share group. */
  interface GroupShown {
    group: string;
    type: string;
    state: string;
    members: GroupMember[];
    partitions: GroupPartition[];
    assignor: string | null;
    coordinator: number | null;
    epoch: number | null;
    target_epoch: number | null;
    lag: number | null;
    partitions_without_lag: number;
    uncommitted: WithoutCommit;
    since: string;
    keeps_up: boolean;
    watched: Watched;
    operations: string[] | null;
    unserved: string | null;
    share: ShareShown | null;
  }

  /** A topic with its new number of partitions. */
  interface GrownTopic {
    topic: string;
    partitions: number;
  }

  /** The offsets that a partition holds: from `first` to before `end`. */
  interface HeldOffsets {
    partition: number;
    first: number;
    end: number;
  }

  /** Entries of an index from number `first` on; `room` is the number that fits. */
  interface IndexPage {
    entries: [number, number, number][];
    first: number;
    count: number;
    room: number;
    entryBytes: number;
  }

  /** An index: its entries, the entries that fit, and its last entry, -1 for none. */
  interface IndexShown {
    size: number;
    entries: number;
    room: number;
    lastKey: number;
    lastValue: number;
  }

  /** The lag of a partition at each sample. */
  interface LagLine {
    topic: string;
    partition: number;
    lag: (number | null)[];
  }

  /** The lag of a group, its change, and the records of partitions without a commit. */
  interface LateGroup {
    group: string;
    lag: number | null;
    change_per_s: number | null;
    read_per_s: number | null;
    partitions_without_lag: number;
    uncommitted: WithoutCommit;
  }

  /** The live rates of a cluster. Rates are None before the second sample. Bytes are None for a
   * login that may not see the sizes of logs. */
  interface LiveOverview {
    at: number | null;
    records_per_s: number | null;
    bytes_per_s: number | null;
    records: number;
    bytes: number | null;
    points: RatePoints;
    topics: BusyTopic[];
    groups: LateGroup[];
    groups_known: number;
    groups_left_out: number;
    hides_groups: boolean;
  }

  /** The records, the bytes of the leaders, and both per second, by topic; None: not known. */
  interface LiveTopics {
    at: number | null;
    topics: Record<string, [number, number | null, number | null, number | null]>;
  }

  /** The names of the operations; None if the cluster does not report them. */
  interface LoginOperations {
    operations: string[] | null;
  }

  /** The steps of a look-up of an offset or a time. The scan begins at byte `start` and skips
   * `passedCount` batches. `exact` says whether `batch` covers the offset. `passed` has the first
   * of the skipped batches. */
  interface LookUpShown {
    ofTime: ProbeShown | null;
    ofOffset: ProbeShown;
    start: number;
    passed: BatchPlace[];
    passedCount: number;
    passedBytes: number;
    batch: BatchPlace | null;
    exact: boolean;
    offset: number | null;
    time: number | null;
  }

  /** A topic that was created. */
  interface MadeTopic {
    topic: string;
    partitions: number;
    replicas: number;
  }

  /** A broker. Host, port and rack are None if it is down; a broker without a rack has none. */
  interface MapBroker {
    id: number;
    alive: boolean;
    host: string | null;
    port: number | null;
    rack: string | null;
  }

  /** The numbers of topics, partitions, and partitions with each trouble. `under_min_isr` is None
   * if the login may not see `min.insync.replicas`. */
  interface MapCounts {
    topics: number;
    partitions: number;
    under_replicated: number;
    leaderless: number;
    under_min_isr: number | null;
    not_preferred: number;
  }

  /** An event of the stream while no broker answers. */
  interface MapFailed {
    error: string;
  }

  /** An event of the stream. `everything`: it has all partitions, else only the changed ones. */
  interface MapNews {
    number: number;
    everything: boolean;
    brokers: MapBroker[];
    counts: MapCounts;
    topics: string[];
    internal: string[];
    partitions: ([number, number, number, number[], number[], number[]] | [number, number, null])[];
    events: [number, number, string, string][];
  }

  /** The event that ends a time without answers if the map did not change meanwhile. */
  interface MapWell {
    well: boolean;
  }

  /** The offsets that a log has from its checkpoints, None without one, and its end. */
  interface MarksShown {
    logStart: number;
    highWatermark: number | null;
    recoveryPoint: number | null;
    cleanedTo: number | null;
    logEnd: number;
    logEndIsKnown: boolean;
  }

  /** A metadata record: its type in Kafka's words, and its fields, or a text instead of them. */
  interface MetadataRecord {
    offset: number;
    epoch: number;
    time_ms: number;
    type: string;
    version: number | null;
    data: any;
  }

  /** An event of the stream of metadata records, the oldest first. The first event has `source`,
   * the place that the records come from. A later event has `moved` when this place has changed.
   * `absent` is the reason if there are no records to show. */
  interface MetadataRecords {
    records?: MetadataRecord[];
    source?: string;
    moved?: string;
    absent?: string;
  }

  /** The new offsets of a group: committed if `moved`, otherwise a preview. */
  interface MovedGroup {
    moved: boolean;
    rows: MovedPartition[];
  }

  /** A partition with its new offset; `committed` None: it has none yet. */
  interface MovedPartition {
    topic: string;
    partition: number;
    committed: number | null;
    new: number;
  }

  /** A part without rows, and the reason. */
  interface NoAccessRows {
    absent: string;
  }

  /** The producers of a partition, the newest first; `of` is their number. */
  interface PartitionProducers {
    producers: ProducerRow[];
    of: number;
    stable: number | null;
    end: number | null;
    denied: boolean;
  }

  /** A partition in the log directory `dir`, and all local directories that have it. `left_out` is
   * the number of older segments that are not in `segments`. */
  interface PartitionShown {
    topic: string;
    partition: number;
    folder: string;
    now: number;
    isMetadata: boolean;
    topicId: string | null;
    size: number;
    left_out: number;
    marks: MarksShown;
    segments: SegmentShown[];
    rules: RulesShown;
    compaction: CompactionShown | null;
    epochs: EpochStart[] | null;
    snapshots: [number, number][];
    metadataSnapshots: [string, number][];
    leaving: [string, number][];
    canRead: boolean;
    dir: string;
    node: number;
    directories: DirectoryShown[];
  }

  /** A partition and its replicas on this machine, by node; the sums of their segments and bytes.
   * */
  interface PartitionSize {
    topic: string;
    partition: number;
    segments: number;
    bytes: number;
    replicas: ReplicaSize[];
  }

  /** The largest partitions on this machine, and the number and sums of all `count` partitions; or
   * the reason `why` there are none. */
  interface PartitionSizes {
    local: boolean;
    partitions: PartitionSize[];
    directories: DirectoryShown[];
    why?: string;
    count?: number;
    bytes?: number;
    segments?: number;
  }

  /** The look-up of `key` in an index: its entry, the neighbours, and the most comparisons. */
  interface ProbeShown {
    key: number;
    entry: [number, number, number] | null;
    around: [number, number, number][];
    entries: number;
    compared: number;
  }

  /** The state of a producer in a partition; `open_from` None: it has no open transaction there.
   * `transactional_id` is None for an idempotent producer, or if the login may not describe the id.
   * */
  interface ProducerRow {
    producer_id: number;
    epoch: number;
    last_sequence: number;
    last_timestamp_ms: number;
    coordinator_epoch: number;
    open_from: number | null;
    transactional_id: string | null;
  }

  /** The state of the metadata quorum, as its leader reports it; `leader` is -1 in an election. */
  interface Quorum {
    leader: number;
    epoch: number;
    high_watermark: number;
    voters: QuorumReplica[];
    observers: QuorumReplica[];
  }

  /** An epoch of the quorum. `start` is its first offset, `time_ms` its start in ms since 1970.
   * `leader` and `time_ms` are None if the epoch's first record is no longer in the log. */
  interface QuorumEpoch {
    epoch: number;
    start: number;
    leader: number | null;
    time_ms: number | null;
  }

  /** The epochs of the metadata log on this machine, the newest first. `folder` is the folder of
   * the log; without one, `absent` is the reason. */
  interface QuorumEpochs {
    rows: QuorumEpoch[];
    folder?: string;
    absent?: string;
  }

  /** A voter or observer of the quorum, as its leader reports it. None is an unknown value. `end`
   * is its log end offset, `lag` the records that it lacks. `behind_ms` and `fetched_ms` are the
   * times since it last caught up and last fetched, by the leader's clock. */
  interface QuorumReplica {
    id: number;
    directory: string | null;
    leads: boolean;
    end: number | null;
    lag: number | null;
    behind_ms: number | null;
    fetched_ms: number | null;
    lagging: boolean;
    addresses: string[];
  }

  /** The features, and the quorum; `absent` is the reason if the quorum cannot be shown. */
  interface QuorumShown {
    features: Features;
    quorum?: Quorum;
    absent?: string;
  }

  /** The rates of the last minutes: times in seconds since 1970, and values per second. A value is
   * None after a pause without samples. */
  interface RatePoints {
    at: number[];
    records: (number | null)[];
    bytes: (number | null)[];
  }

  /** A record and its batch, or else the reason why the offset has none. `hidden`: the record
   * exists, and is shown with `uncommitted`. `previous` and `next` are the nearest offsets that
   * have a record. */
  interface RecordAtOffset {
    record: RecordShown | null;
    batch: RecordBatchShown | null;
    missing: string | null;
    hidden: boolean;
    previous: number | null;
    next: number | null;
  }

  /** The header of the batch that has a record. `size` is in bytes, with the header. A batch
   * without an idempotent producer has null instead of a producer id, epoch and sequence.
   * `record_sequence` is the sequence of the record itself. */
  interface RecordBatchShown {
    base_offset: number;
    last_offset: number;
    records: number;
    size: number;
    codec: string;
    producer_id: number | null;
    producer_epoch: number | null;
    base_sequence: number | null;
    record_sequence: number | null;
    transactional: boolean;
    leader_epoch: number;
    timestamp_type: "CreateTime" | "LogAppendTime";
    max_timestamp: number;
  }

  /** The `texts` of a record that matched a search, to be marked. The first one is `at` this
   * character of the `part`; `around` is the text there, if a row would not show it. */
  interface RecordMatch {
    texts: string[];
    part?: "key" | "value";
    at?: number;
    around?: string;
  }

  /** Records, and a `cursor` that leads to the next page. `partial`: the page ends early, because
   * the records are large. The topic has `topic_partitions`; the last `left_out` of them are not
   * read, because the request names none and the topic has many. The `unled` partitions have no
   * leader, so they cannot be read now. */
  interface RecordPage {
    records: RecordShown[];
    cursor: string | null;
    partial: boolean;
    partitions: HeldOffsets[];
    topic_partitions: number;
    left_out: number;
    unled: number[];
  }

  /** A record; `size` is that of key, value and headers together. A search adds `match`. */
  interface RecordShown {
    partition: number;
    offset: number;
    timestamp: number;
    size: number;
    key: BytesShown | null;
    value: BytesShown | null;
    headers: ([string, BytesShown | null])[];
    more_headers?: number;
    decoded?: DecodedRecord;
    match?: RecordMatch;
  }

  /** The folder of a partition in a log directory, its segments, and the bytes of its logs. */
  interface ReplicaSize {
    dir: string;
    node: number;
    segments: number;
    bytes: number;
  }

  /** The configs of retention and compaction, each with (value, source). `why` is the reason if
   * they are unknown. `checkInterval` and `deleteDelay` are in ms. */
  interface RulesShown {
    why: string | null;
    configs: Record<string, [string, string]>;
    checkInterval: number | null;
    deleteDelay: number | null;
    compact: boolean;
    delete: boolean;
  }

  /** The counts of a scan of headers up to byte `position`. `codecs` has (batches, bytes) of each
   * codec, `epochs` (leader epoch, first offset), and `horizons` the earliest and latest delete
   * horizon. `tombstones` is None if they are not counted. */
  interface ScanShown {
    position: number;
    isWhole: boolean;
    batches: number;
    records: number;
    nextOffset: number;
    emptyBatches: number;
    controlBatches: number;
    transactionalBatches: number;
    largestBatch: number;
    firstTime: number;
    largestTime: number;
    codecs: Record<string, [number, number]>;
    epochs: [number, number][];
    tombstones: number | null;
    horizons: [number, number] | null;
    batchesWithHorizon: number;
    damage: string | null;
    cells: Cells;
  }

  /** The progress of a search: `scanned` and `total` count offsets, `seconds` is since the start.
   * `decodes`: records are decoded one by one, which is slower. The last event has `ended`: "end",
   * or "full" if there are more matches than one search returns; the next one begins at `cursor`.
   * */
  interface SearchEvent {
    scanned: number;
    total: number;
    bytes: number;
    found: number;
    seconds: number;
    finds?: RecordShown[];
    ended?: "end" | "full";
    cursor?: string;
    decodes?: boolean;
  }

  /** A segment with its files, indexes and counts. `size` counts the batches, `fileSize`
   * preallocated space too. `files` has the sizes by suffix. */
  interface SegmentShown {
    base: number;
    name: string;
    end: number;
    size: number;
    fileSize: number;
    files: Record<string, number>;
    modified: number;
    firstTime: number;
    largestTime: number;
    active: boolean;
    offsets: IndexShown | null;
    times: IndexShown | null;
    density: Density | null;
    aborted: number;
    scan: ScanShown | null;
    fate: FateShown | null;
  }

  /** The place of the record, the leader of its partition, and whether the consumer read it.
   * `offset` is the end of the log before the write: another producer may have taken it meanwhile.
   * */
  interface SentRecord {
    topic: string;
    partition: number;
    offset: number;
    leader: number;
    consumed: boolean;
  }

  /** The part of a page that only a share group has. `ranges`: its records after the start offsets,
   * `more_ranges` the number of ranges left out. `without_ranges`: why the ranges are not known.
   * `delivery_limit`, `lock_ms` and `dead_letter_topic` are configs, None if not known or not set.
   * `troubles`: what holds up the group. */
  interface ShareShown {
    ranges: DeliveredRange[];
    more_ranges: number;
    without_ranges: string | null;
    delivery_limit: number | null;
    lock_ms: number | null;
    dead_letter_topic: string | null;
    troubles: string[];
  }

  /** A producer snapshot: the first of its `count` producers. */
  interface Snapshot {
    producers: SnapshotProducer[];
    count: number;
  }

  /** The state of a producer in a producer snapshot. */
  interface SnapshotProducer {
    producerId: number;
    producerEpoch: number;
    coordinatorEpoch: number;
    currentTxnFirstOffset: number | null;
    lastTimestamp: number;
    lastSequence: number;
    lastOffset: number;
  }

  /** Records, the oldest first, and the number of those that were skipped. `waiting`: the reason
   * why the tail waits for a broker or a leader; records follow later. `cursor`: the offsets at
   * which another tail goes on. `resumed`: in the first event of such a tail, the number of offsets
   * that were written between the two. */
  interface TailEvent {
    records: RecordShown[];
    dropped: number;
    waiting?: string;
    cursor?: string;
    resumed?: number;
  }

  /** The page of a topic. `operations`: those that the login may do on it, None if the broker does
   * not report them. */
  interface Topic {
    topic: string;
    id: string;
    internal: boolean;
    partitions: TopicPartition[];
    operations: string[] | null;
  }

  /** A config of a topic; `own`: set for this topic. */
  interface TopicConfig {
    name: string;
    value: string | null;
    source: string;
    own: boolean;
    documentation: string | null;
  }

  /** The rows of all topics that the login may see. */
  interface TopicList {
    topics: [string, number, number, boolean, number, number][];
  }

  /** A partition of a topic. `bytes` is the size of the leader's log, `all_bytes` of all replicas;
   * None if the login may not see sizes. */
  interface TopicPartition {
    partition: number;
    leader: number | null;
    epoch: number;
    replicas: number[];
    isr: number[];
    offline: number[];
    first: number | null;
    end: number | null;
    bytes: number | null;
    all_bytes: number | null;
  }

  /** A group that has committed offsets of a topic. `lag` is the sum of the known lags of its
   * partitions, None if no lag is known. */
  interface TopicReader {
    group: string;
    state: string;
    partitions: number;
    lag: number | null;
    partitions_without_lag: number;
  }

  /** The groups that read a topic. `left_out` is the number of groups that were not asked. */
  interface TopicReaders {
    groups: TopicReader[];
    left_out: number;
  }

  /** The partitions of a topic with records after the last stable offset. */
  interface TopicWaiting {
    records: number;
    partitions: WaitingPartition[];
    denied: boolean;
  }

  /** A node with a local log directory. `why` is the reason if it sends no traces, else None. */
  interface TracingNode {
    node: number;
    why: string | null;
  }

  /** The transactions that match, `of` all that do; the partitions with waiting records. `denied`:
   * topics whose producers the login may not see. `states`: Kafka's names. `may_abort`: whether the
   * login may write markers, None if the broker does not report it. */
  interface TransactionList {
    transactions: TransactionRow[];
    of: number;
    waiting: WaitingPartition[];
    denied: string[];
    states: string[];
    may_abort: boolean | null;
  }

  /** A transactional id with its last transaction. `started_ms` is None if no transaction is open.
   * `partitions`: those of the open transaction that the login may describe. */
  interface TransactionRow {
    id: string;
    state: string;
    producer_id: number;
    epoch: number;
    coordinator: number;
    timeout_ms: number;
    started_ms: number | null;
    partitions: [string, number][];
  }

  /** A partition with records after its last stable offset. `transactional_id` is None if no
   * coordinator knows the transaction, or the login may not describe it; then `hangs` is true if an
   * administrator sees it so. `since_ms` is the start of the transaction, or the time of its last
   * record. */
  interface WaitingPartition {
    topic: string;
    partition: number;
    stable: number;
    end: number;
    records: number;
    producer_id: number | null;
    epoch: number | null;
    transactional_id: string | null;
    since_ms: number | null;
    hangs: boolean;
  }

  /** The times of the lag's samples, and the error of the last one. */
  interface Watched {
    since_ms: number | null;
    last_ms: number | null;
    every_s: number;
    error: string | null;
  }

  /** The partitions of a group's topics without a committed offset, and the records in them. */
  interface WithoutCommit {
    partitions: number;
    records: number;
  }

  /** The place of a written record; `offset` is -1 if the broker does not return it. */
  interface WrittenRecord {
    partition: number;
    offset: number;
  }

  interface Gets {
    "/api/about": About;
    "/api/access": Access;
    "/api/configs": Configs;
    "/api/configs/resources": ConfigResources;
    "/api/exports/{}": ExportStatus;
    "/api/flow": FlowStart;
    "/api/group": GroupShown;
    "/api/group/lag": GroupLag;
    "/api/groups": GroupList;
    "/api/live-topics": LiveTopics;
    "/api/operations": LoginOperations;
    "/api/overview": ClusterHealth;
    "/api/overview/live": LiveOverview;
    "/api/quorum": QuorumShown;
    "/api/quorum/epochs": QuorumEpochs;
    "/api/segments": PartitionSizes;
    "/api/segments/{}/{}": PartitionShown;
    "/api/segments/{}/{}/snapshot": Snapshot | DamagedSnapshot;
    "/api/segments/{}/{}/{}": SegmentShown;
    "/api/segments/{}/{}/{}/aborted": AbortedTransactions;
    "/api/segments/{}/{}/{}/batch": BatchOpened;
    "/api/segments/{}/{}/{}/batches": BatchesPage;
    "/api/segments/{}/{}/{}/bytes": BytesNamed;
    "/api/segments/{}/{}/{}/index": IndexPage;
    "/api/segments/{}/{}/{}/lookup": LookUpShown;
    "/api/topics": TopicList;
    "/api/topics/{}": Topic;
    "/api/topics/{}/configs": TopicConfig[];
    "/api/topics/{}/groups": TopicReaders;
    "/api/topics/{}/messages": RecordPage;
    "/api/topics/{}/messages/{}/{}": RecordShown;
    "/api/topics/{}/producers": PartitionProducers;
    "/api/topics/{}/records/{}/{}": RecordAtOffset;
    "/api/topics/{}/waiting": TopicWaiting;
    "/api/transactions": TransactionList;
  }

  interface Posts {
    "/api/access/acls": Done;
    "/api/access/acls/remove": Done;
    "/api/access/quotas": Done;
    "/api/access/users": Done;
    "/api/access/users/remove": Done;
    "/api/configs": ChangedConfigs;
    "/api/flow/records": SentRecord;
    "/api/group/delete": DeletedGroup;
    "/api/group/reset": MovedGroup;
    "/api/topics": MadeTopic;
    "/api/topics/{}/delete": ChangedTopic;
    "/api/topics/{}/messages": WrittenRecord;
    "/api/topics/{}/partitions": GrownTopic;
    "/api/transactions/abort": AbortPlan;
  }

  interface Streams {
    "/api/flow/live": FlowNews | FlowFailed;
    "/api/quorum/records": MetadataRecords;
    "/api/replicas": MapNews | MapFailed | MapWell;
    "/api/topics/{}/search": SearchEvent;
    "/api/topics/{}/tail": TailEvent;
  }
}
