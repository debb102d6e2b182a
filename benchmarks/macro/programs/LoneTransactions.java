import java.util.Properties;
import java.util.StringJoiner;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** BOOTSTRAP TOPIC TRANSACTIONS RECORDS BYTES: one transaction after the other; prints their milliseconds as JSON. */
public final class LoneTransactions {
    public static void main(String[] arguments) {
        int transactions = Integer.parseInt(arguments[2]);
        int records = Integer.parseInt(arguments[3]);
        byte[] value = new byte[Integer.parseInt(arguments[4])];
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("transactional.id", "bench-" + System.nanoTime());
        properties.put("linger.ms", 0);
        ByteArraySerializer bytes = new ByteArraySerializer();
        StringJoiner durationsMs = new StringJoiner(", ", "[", "]");
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, bytes, bytes)) {
            producer.initTransactions();
            for (int transaction = 0; transaction < transactions; transaction++) {
                long began = System.nanoTime();
                producer.beginTransaction();
                for (int record = 0; record < records; record++) {
                    producer.send(new ProducerRecord<>(arguments[1], 0, null, value));
                }
                producer.commitTransaction();
                durationsMs.add(Double.toString((System.nanoTime() - began) / 1e6));
            }
        }
        System.out.println(durationsMs);
    }
}
