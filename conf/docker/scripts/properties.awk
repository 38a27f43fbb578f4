# Print a properties file, and after it the environment variables KAFKA_* as properties.
#
# The names become keys by the rules of apache/kafka: without KAFKA_, in lower case, `_` is a dot, `__`
# an underscore, and `___` a hyphen. Values stay as they are. The file's own lines of these keys are
# left out, as are variables that apache/kafka or Kubernetes set for other programs.

BEGIN {
    other = "^KAFKA_(VERSION|HEAP_OPTS|LOG4J_OPTS|OPTS|JMX_OPTS|JMX_HOSTNAME|JMX_PORT|GC_LOG_OPTS" \
        "|JVM_PERFORMANCE_OPTS|LOG4J_ROOT_LOGLEVEL|LOG4J_LOGGERS|TOOLS_LOG4J_LOGLEVEL" \
        "|SSL_(KEY|KEYSTORE|TRUSTSTORE)_(FILENAME|CREDENTIALS)" \
        "|(REST|CONFLUENT|SERVICE|PORT)_.*|PORT)$"
    for (name in ENVIRON)
        if (name ~ /^KAFKA_/ && name !~ other)
            values[key_of(name)] = ENVIRON[name]
}

{
    word = $0
    sub(/^[ \t]+/, "", word)
    sub(/[ \t]*[=: \t].*$/, "", word)
    if (word !~ /^[#!]/ && word in values && $0 !~ /\\$/)
        next
    if (word !~ /^[#!]/)
        in_file[word] = 1
    print
}

END {
    count = 0
    for (key in values) {
        for (place = count++; place > 0 && keys[place] > key; place--)
            keys[place + 1] = keys[place]
        keys[place + 1] = key
    }
    for (place = 1; place <= count; place++)
        print keys[place] "=" values[keys[place]]
    add_default("ottla.metrics.port", "9404") # for the health check
    if (!("log.dir" in values) && !("log.dir" in in_file))
        add_default("log.dirs", "/var/lib/ottla/data")
}

function key_of(name) {
    sub(/^KAFKA_/, "", name)
    name = tolower(name)
    gsub(/_/, ".", name)
    gsub(/\.\.\./, "-", name)
    gsub(/\.\./, "_", name)
    return name
}

function add_default(key, value) {
    if (!(key in values) && !(key in in_file))
        print key "=" value
}
