import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateDelegationTokenOptions;
import org.apache.kafka.clients.admin.DescribeDelegationTokenOptions;
import org.apache.kafka.clients.admin.ExpireDelegationTokenOptions;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.token.delegation.DelegationToken;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Delegation tokens by Java's clients: {@code TokenRoundTrip client.properties topic}.
 *
 * <p>Prints what it saw, as {@code tests/compat/security/token_round_trips.py} says.
 */
public final class TokenRoundTrip {
    private static final long LIFE_MS = 3_600_000;

    private TokenRoundTrip() {
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> settings = settings(args[0]);
        String topic = args[1];
        try (Admin admin = Admin.create(settings)) {
            DelegationToken token = admin.createDelegationToken(
                new CreateDelegationTokenOptions()
                    .maxLifetimeMs(LIFE_MS)
                    .renewers(List.of(new KafkaPrincipal("User", "bob")))
            ).delegationToken().get();
            System.out.println("made for " + token.tokenInfo().owner() + ", renewed by "
                + token.tokenInfo().renewersAsString().iterator().next());
            System.out.println("seen " + seen(admin, token));
            for (String mechanism : List.of("SCRAM-SHA-256", "SCRAM-SHA-512")) {
                Map<String, Object> byToken = byToken(settings, mechanism, token);
                System.out.println(mechanism + " " + attempt(byToken, topic) + ", "
                    + another(byToken));
            }
            long expiry = admin.renewDelegationToken(token.hmac()).expiryTimestamp().get();
            System.out.println(expiry == token.tokenInfo().maxTimestamp()
                ? "renewed to its end" : "renewed to " + expiry);
            admin.expireDelegationToken(token.hmac(),
                new ExpireDelegationTokenOptions().expiryTimePeriodMs(-1)).expiryTimestamp().get();
            while (seen(admin, token) > 0) {
                Thread.sleep(10);
            }
            System.out.println("seen " + seen(admin, token));
            System.out.println(attempt(byToken(settings, "SCRAM-SHA-256", token), topic));
        }
    }

    private static Map<String, Object> settings(String file) throws Exception {
        Properties properties = new Properties();
        try (var reader = Files.newBufferedReader(Path.of(file))) {
            properties.load(reader);
        }
        Map<String, Object> settings = new HashMap<>();
        properties.forEach((key, value) -> settings.put(key.toString(), value));
        return settings;
    }

    private static Map<String, Object> byToken(
            Map<String, Object> settings, String mechanism, DelegationToken token) {
        Map<String, Object> changed = new HashMap<>(settings);
        changed.put("sasl.mechanism", mechanism);
        changed.put("sasl.jaas.config",
            "org.apache.kafka.common.security.scram.ScramLoginModule required username=\""
                + token.tokenInfo().tokenId() + "\" password=\"" + token.hmacAsBase64String()
                + "\" tokenauth=\"true\";");
        return changed;
    }

    private static long seen(Admin admin, DelegationToken token) throws Exception {
        return admin.describeDelegationToken(new DescribeDelegationTokenOptions()
                .owners(List.of(token.tokenInfo().owner())))
            .delegationTokens().get().stream()
            .filter(one -> one.equals(token) || one.tokenInfo().tokenId()
                .equals(token.tokenInfo().tokenId()))
            .count();
    }

    private static String attempt(Map<String, Object> settings, String topic) throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(
                 settings, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, 0, null, "x")).get();
            return "written";
        } catch (ExecutionException e) {
            return name(e);
        }
    }

    private static String another(Map<String, Object> settings) throws Exception {
        try (Admin admin = Admin.create(settings)) {
            admin.createDelegationToken().delegationToken().get();
            return "made";
        } catch (ExecutionException e) {
            return name(e);
        }
    }

    private static String name(ExecutionException e) throws ExecutionException {
        if (e.getCause() instanceof ApiException refused) {
            return Errors.forException(refused).name();
        }
        throw e;
    }
}
