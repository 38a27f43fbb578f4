import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.Sanitizer;
import org.apache.kafka.network.Session;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaEntity.ConfigEntity;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.ClientRequestQuotaManager;
import org.apache.kafka.server.quota.ControllerMutationQuota;
import org.apache.kafka.server.quota.ControllerMutationQuotaManager;
import org.apache.kafka.server.quota.QuotaType;

/**
 * Answers how long Kafka's own quota managers throttle: one sequence a JSON line in, one line out.
 *
 * <pre>
 * {"type": "PRODUCE", "num": 11, "size_s": 1, "steps": [["set", user, client, value], …]}
 *     →  [null, 485, …]                one result for each step
 * </pre>
 *
 * Names: {} is none, {"name": null} the default, {"name": "a"} a name. The time is the step's own.
 */
public final class QuotaOracle {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private QuotaOracle() {
    }

    /** A clock that stands where it was put. */
    private static final class Clock implements Time {
        private long now = 0;

        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return now * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
            now += ms;
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String line;
        while ((line = in.readLine()) != null) {
            out.println(answer(MAPPER.readTree(line)));
            out.flush();
        }
        System.exit(0);
    }

    private static ArrayNode answer(JsonNode sequence) throws Exception {
        Clock clock = new Clock();
        Metrics metrics = new Metrics(clock);
        ClientQuotaManager manager = manager(sequence, metrics, clock);
        ArrayNode answers = MAPPER.createArrayNode();
        for (JsonNode step : sequence.get("steps")) {
            answers.add(MAPPER.valueToTree(answer(manager, clock, step)));
        }
        manager.initiateShutdown();
        return answers;
    }

    private static ClientQuotaManager manager(JsonNode sequence, Metrics metrics, Time time) {
        ClientQuotaManagerConfig config = new ClientQuotaManagerConfig(
            sequence.get("num").asInt(), sequence.get("size_s").asInt());
        QuotaType type = QuotaType.valueOf(sequence.get("type").asText());
        return switch (type) {
            case REQUEST ->
                new ClientRequestQuotaManager(config, metrics, time, "", Optional.empty());
            case CONTROLLER_MUTATION ->
                new ControllerMutationQuotaManager(config, metrics, time, "", Optional.empty());
            default -> new ClientQuotaManager(config, metrics, type, time, "");
        };
    }

    private static Object answer(ClientQuotaManager manager, Clock clock, JsonNode step)
            throws Exception {
        String what = step.get(0).asText();
        if (what.equals("set") || what.equals("remove")) {
            manager.updateQuota(user(step.get(1)), client(step.get(2)),
                what.equals("set")
                    ? Optional.of(new Quota(step.get(3).asDouble(), true)) : Optional.empty());
            return null;
        }
        clock.now = step.get(1).asLong();
        Session session = new Session(
            new KafkaPrincipal(KafkaPrincipal.USER_TYPE, step.get(2).asText()),
            InetAddress.getLoopbackAddress());
        String client = step.get(3).asText();
        double value = step.size() > 4 ? step.get(4).asDouble() : 0;
        switch (what) {
            case "record":
                return manager.maybeRecordAndGetThrottleTimeMs(session, client, value, clock.now);
            case "unrecord":
                manager.unrecordQuotaSensor(session, client, value, clock.now);
                return null;
            case "record only":
                manager.recordNoThrottle(session, client, value);
                return null;
            case "most":
                return manager.maxValueInQuotaWindow(session, client);
            case "tags":
                return new TreeMap<>(
                    manager.getOrCreateQuotaSensors(session, client).metricTags());
            case "permissive":
                ControllerMutationQuota quota =
                    ((ControllerMutationQuotaManager) manager)
                        .newPermissiveQuotaFor(session, client);
                quota.record(value);
                return quota.throttleTime();
            default:
                throw new IllegalArgumentException(what);
        }
    }

    private static Optional<ConfigEntity> user(JsonNode name) {
        if (name.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(name.get("name").isNull()
            ? ClientQuotaManager.DEFAULT_USER_ENTITY
            : new ClientQuotaManager.UserEntity(Sanitizer.sanitize(name.get("name").asText())));
    }

    private static Optional<ConfigEntity> client(JsonNode name) {
        if (name.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(name.get("name").isNull()
            ? ClientQuotaManager.DEFAULT_USER_CLIENT_ID
            : new ClientQuotaManager.ClientIdEntity(name.get("name").asText()));
    }
}
