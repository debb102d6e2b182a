import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.*;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.*;

/** Kafka's uniform assignor: one group as JSON a line in, its assignment as JSON a line out. */
public class UniformHistories {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode group = json.readTree(line);
            Map<Uuid, Integer> counts = new HashMap<>();
            group.get("topics").fields().forEachRemaining(
                one -> counts.put(uuid(one.getKey()), one.getValue().asInt()));
            Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
            Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
            Set<Set<Uuid>> subscriptions = new HashSet<>();
            for (JsonNode one : group.get("members")) {
                String id = one.get("id").asText();
                Set<Uuid> topics = new HashSet<>();
                one.get("topics").forEach(topic -> topics.add(uuid(topic.asText())));
                subscriptions.add(topics);
                Map<Uuid, Set<Integer>> target = new HashMap<>();
                one.get("target").fields().forEachRemaining(held -> {
                    Set<Integer> partitions = new TreeSet<>();
                    held.getValue().forEach(partition -> {
                        partitions.add(partition.asInt());
                        owners.computeIfAbsent(uuid(held.getKey()), unused -> new HashMap<>())
                            .put(partition.asInt(), id);
                    });
                    target.put(uuid(held.getKey()), partitions);
                });
                Optional<String> instance = one.hasNonNull("instance")
                    ? Optional.of(one.get("instance").asText()) : Optional.empty();
                members.put(id, new MemberSubscriptionAndAssignmentImpl(
                    Optional.empty(), instance, topics, new Assignment(target)));
            }
            SubscriptionType type = subscriptions.size() == 1
                ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
            SubscribedTopicDescriber topics = new SubscribedTopicDescriber() {
                public int numPartitions(Uuid topic) {
                    return counts.getOrDefault(topic, -1);
                }

                public Set<String> racksForPartition(Uuid topic, int partition) {
                    return Set.of();
                }
            };
            GroupAssignment found = new UniformAssignor().assign(new GroupSpecImpl(members, type, owners), topics);
            ObjectNode answer = json.createObjectNode();
            found.members().forEach((id, held) -> {
                ObjectNode mine = answer.putObject(id);
                held.partitions().forEach((topic, partitions) -> {
                    if (!partitions.isEmpty()) {
                        var list = mine.putArray(text(topic));
                        new TreeSet<>(partitions).forEach(list::add);
                    }
                });
            });
            System.out.println(json.writeValueAsString(answer));
        }
    }

    private static Uuid uuid(String text) {
        UUID parsed = UUID.fromString(text);
        return new Uuid(parsed.getMostSignificantBits(), parsed.getLeastSignificantBits());
    }

    private static String text(Uuid topic) {
        return new UUID(topic.getMostSignificantBits(), topic.getLeastSignificantBits()).toString();
    }
}
