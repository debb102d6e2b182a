package odradek;

import java.util.ArrayList;
import java.util.List;

import org.apache.kafka.server.util.timer.SystemTimer;
import org.apache.kafka.server.util.timer.TimerTask;

/**
 * What adding to and cancelling in Kafka's SystemTimer costs, in the loop of benchmarks/micro/timer.py: the same number of
 * probes, the same delays, the best of many rounds (more of them, so that the compiler has done its work). Prints JSON.
 */
public final class PeerTimer {
    private static final int PROBES = 20_000;
    private static final int SPREAD_MS = 30_000;
    private static final int ROUNDS = 50;

    private static final class Nothing extends TimerTask {
        Nothing(long delayMs) {
            super(delayMs);
        }

        @Override
        public void run() {
        }
    }

    private static long delayMs(int index) {
        return 1_000 + (index * 7_919L) % SPREAD_MS;
    }

    private static Nothing add(SystemTimer timer, int index) {
        Nothing task = new Nothing(delayMs(index));
        timer.add(task);
        return task;
    }

    private static String measure(int pending) throws Exception {
        double addNs = Double.MAX_VALUE;
        double cancelNs = Double.MAX_VALUE;
        try (SystemTimer timer = new SystemTimer("peer")) {
            List<Nothing> standing = new ArrayList<>(pending);
            for (int index = 0; index < pending; index++) {
                standing.add(add(timer, index));
            }
            for (int round = 0; round < ROUNDS; round++) {
                Nothing[] tasks = new Nothing[PROBES];
                long began = System.nanoTime();
                for (int index = 0; index < PROBES; index++) {
                    tasks[index] = add(timer, index);
                }
                long added = System.nanoTime();
                for (Nothing task : tasks) {
                    task.cancel();
                }
                long cancelled = System.nanoTime();
                addNs = Math.min(addNs, (double) (added - began) / PROBES);
                cancelNs = Math.min(cancelNs, (double) (cancelled - added) / PROBES);
            }
        }
        return String.format(
            "  {\"subject\": \"kafka\", \"pending\": %d, \"add_ns\": %.1f, \"cancel_ns\": %.1f}", pending, addNs, cancelNs);
    }

    public static void main(String[] args) throws Exception {
        List<String> figures = new ArrayList<>();
        for (int pending : new int[] {1_000, 100_000, 1_000_000}) {
            figures.add(measure(pending));
        }
        System.out.println("[\n" + String.join(",\n", figures) + "\n]");
        System.exit(0);
    }
}
