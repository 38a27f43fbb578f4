import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.server.common.MetadataVersion;

/** Prints a release's error codes, stable versions of APIs and levels of metadata.version. */
public final class ReleaseFacts {
    private ReleaseFacts() {}

    public static void main(String[] args) {
        for (Errors error : Errors.values()) {
            boolean retriable = error.exception() instanceof RetriableException;
            System.out.printf("error %d %s %s%n", error.code(), error.name(), retriable);
        }
        for (ApiKeys api : ApiKeys.values()) {
            if (!api.hasValidVersion()) {
                continue;
            }
            System.out.printf(
                    "api %d %s %d %d%n",
                    api.id, api.name(), api.oldestVersion(), api.latestVersion(false));
        }
        for (MetadataVersion level : MetadataVersion.VERSIONS) {
            if (level.isProduction()) {
                System.out.printf(
                        "level %d %s %s%n",
                        level.featureLevel(), level.version(), level.didMetadataChange());
            }
        }
    }
}
