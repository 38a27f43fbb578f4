import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * ACLs by Java's admin: {@code AclRoundTrip admin.properties user.properties topic}.
 *
 * <p>The admin makes two ACLs, lists what speaks about the topic and removes it; before, between
 * and after the user tries to write. Prints what it saw, as
 * {@code tests/compat/security/acl_round_trips.py} says.
 */
public final class AclRoundTrip {
    private static final String PRINCIPAL = "User:bob";
    private static final String ELSEWHERE = "10.9.9.9";
    private static final int PREFIX_LENGTH = 8;

    private AclRoundTrip() {
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> user = settings(args[1]);
        String topic = args[2];
        AclBindingFilter about = new AclBindingFilter(
            new ResourcePatternFilter(ResourceType.TOPIC, topic, PatternType.MATCH),
            new AccessControlEntryFilter(
                PRINCIPAL, null, AclOperation.ANY, AclPermissionType.ANY));
        try (Admin admin = Admin.create(settings(args[0]))) {
            System.out.println(attempt(user, topic));
            admin.createAcls(List.of(
                new AclBinding(
                    new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL),
                    new AccessControlEntry(
                        PRINCIPAL, "*", AclOperation.WRITE, AclPermissionType.ALLOW)),
                new AclBinding(
                    new ResourcePattern(ResourceType.TOPIC, topic.substring(0, PREFIX_LENGTH),
                        PatternType.PREFIXED),
                    new AccessControlEntry(
                        PRINCIPAL, ELSEWHERE, AclOperation.READ, AclPermissionType.DENY))
            )).all().get();
            System.out.println("listed " + text(admin.describeAcls(about).values().get()));
            System.out.println(attempt(user, topic));
            System.out.println("removed " + text(admin.deleteAcls(List.of(about)).all().get()));
            System.out.println("left " + text(admin.describeAcls(about).values().get()));
            System.out.println(attempt(user, topic));
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

    private static String attempt(Map<String, Object> user, String topic) throws Exception {
        Map<String, Object> settings = new HashMap<>(user);
        // Else it is refused before, for want of IdempotentWrite.
        settings.put("enable.idempotence", "false");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(
                 settings, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, 0, null, "x")).get();
            return "written";
        } catch (ExecutionException e) {
            if (e.getCause() instanceof ApiException refused) {
                return Errors.forException(refused).name();
            }
            throw e;
        }
    }

    private static String text(Collection<AclBinding> acls) {
        return acls.stream()
            .map(acl -> acl.entry().permissionType() + " " + acl.entry().operation() + " "
                + acl.pattern().patternType() + " " + acl.entry().host())
            .sorted()
            .collect(Collectors.joining(", "));
    }
}
