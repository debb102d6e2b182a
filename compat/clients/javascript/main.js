// KafkaJS as a program; program.py above this folder tells what the lines on stdin and stdout mean.
//
// Its consumer always joins a group, so reading by assignment takes the parts under it: the cluster, a broker's
// fetch, and the batch that leaves out what was not asked for.

const readline = require('node:readline')

const { CompressionCodecs, CompressionTypes, Kafka, Partitioners, logLevel } = require('kafkajs')
const Cluster = require('kafkajs/src/cluster')
const Batch = require('kafkajs/src/consumer/batch')
const { READ_COMMITTED, READ_UNCOMMITTED } = require('kafkajs/src/protocol/isolationLevel')
const { createLogger } = require('kafkajs/src/loggers')
const createSocketFactory = require('kafkajs/src/network/socketFactory')
const Lz4Codec = require('@2l/kafkajs-lz4')
const SnappyCodec = require('kafkajs-snappy')
const Zstd = require('@toondepauw/node-zstd')

const { Members } = require('./members')

// After this time what the program waits for has failed.
const WAIT_MS_MAX = Number(process.env.WAIT_S_MAX) * 1000
const FETCH_WAIT_MS = 100
const FETCH_BYTES_MAX = 10_000_000
const BATCH_BYTES_MAX = 1_000_000
const ZSTD_LEVEL = 3

const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

CompressionCodecs[CompressionTypes.Snappy] = SnappyCodec
CompressionCodecs[CompressionTypes.LZ4] = new Lz4Codec().codec
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: encoder => new Zstd.Encoder(ZSTD_LEVEL).encode(encoder.buffer),
  decompress: buffer => new Zstd.Decoder().decode(buffer),
})

const bootstrap = process.argv[2]
const silent = () => () => {}
const kafka = new Kafka({
  brokers: [bootstrap],
  connectionTimeout: WAIT_MS_MAX,
  logLevel: logLevel.NOTHING,
  retry: { retries: 8 },
})
const members = new Members(kafka, tell)

async function write({ topic, codec, acks, idempotent, records }) {
  // With several partitions, the partitioner is the only one who knows where a record went.
  const partitions = new Map()
  const createPartitioner = () => {
    const partitioner = Partitioners.DefaultPartitioner()
    return each => {
      const partition = partitioner(each)
      partitions.set(each.message, partition)
      return partition
    }
  }
  const producer = kafka.producer({ createPartitioner, idempotent, maxInFlightRequests: idempotent ? 1 : null })
  await producer.connect()
  try {
    const next = new Map()
    const offsets = []
    for (const messages of batches(records.map(toBeSent))) {
      const answers = await producer.send({ topic, acks, compression: CODECS[codec], messages })
      for (const { partition, baseOffset } of answers) next.set(partition, Number(baseOffset))
      for (const message of messages) {
        const partition = partitions.get(message)
        const offset = next.get(partition)
        offsets.push(offset)
        next.set(partition, offset + 1)
      }
    }
    return offsets
  } finally {
    await producer.disconnect()
  }
}

// KafkaJS makes one batch for each partition of what it is given at once, however large.
function* batches(messages) {
  let batch = []
  let size = 0
  for (const message of messages) {
    const added = message.value?.length ?? 0
    if (batch.length > 0 && size + added > BATCH_BYTES_MAX) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(message)
    size += added
  }
  yield batch
}

function toBeSent({ key, value, headers, timestamp_ms: timestampMs, partition }) {
  const message = { key: bytes(key), value: bytes(value) }
  if (timestampMs !== null) message.timestamp = String(timestampMs)
  if (partition !== null) message.partition = partition
  message.headers = Object.fromEntries(headers.map(([name, told]) => [name, bytes(told)]))
  return message
}

async function read(request) {
  const { topic, partition } = request
  const cluster = new Cluster({
    brokers: [bootstrap],
    logger: createLogger({ level: logLevel.NOTHING, logCreator: silent }),
    socketFactory: createSocketFactory(),
    connectionTimeout: WAIT_MS_MAX,
    enforceRequestTimeout: true,
    metadataMaxAge: WAIT_MS_MAX,
    retry: {},
  })
  await cluster.connect()
  try {
    await cluster.addTargetTopic(topic)
    const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]))
    return await fetchAll(await cluster.findBroker({ nodeId }), request)
  } finally {
    await cluster.disconnect()
  }
}

async function fetchAll(broker, { topic, partition, offset, count, committed_only: committedOnly }) {
  const deadline = Date.now() + WAIT_MS_MAX
  const records = []
  let fetchOffset = String(offset)
  while (records.length < count && Date.now() < deadline) {
    const { responses } = await broker.fetch({
      isolationLevel: committedOnly ? READ_COMMITTED : READ_UNCOMMITTED,
      maxWaitTime: FETCH_WAIT_MS,
      maxBytes: FETCH_BYTES_MAX,
      topics: [{ topic, partitions: [{ partition, fetchOffset, maxBytes: FETCH_BYTES_MAX }] }],
    })
    const batch = new Batch(topic, fetchOffset, responses[0].partitions[0])
    records.push(...batch.messages.slice(0, count - records.length).map(each => tell(each, partition)))
    if (!batch.isEmptyIncludingFiltered()) fetchOffset = String(Number(batch.lastOffset()) + 1)
  }
  return records
}

function tell({ key, value, headers, timestamp, offset }, partition) {
  const pairs = Object.entries(headers).flatMap(([name, values]) => [values].flat().map(each => [name, base64(each)]))
  return {
    key: base64(key),
    value: base64(value),
    headers: pairs,
    timestamp_ms: Number(timestamp),
    partition,
    offset: Number(offset),
  }
}

async function asAdmin(ask) {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await ask(admin)
  } finally {
    await admin.disconnect()
  }
}

async function range({ topic, partition }) {
  const found = await asAdmin(admin => admin.fetchTopicOffsets(topic))
  const { low, high } = found.find(each => each.partition === partition)
  return { first: Number(low), end: Number(high) }
}

async function time({ topic, partition, timestamp_ms: timestampMs }) {
  const found = await asAdmin(admin => admin.fetchTopicOffsetsByTimestamp(topic, timestampMs))
  const offset = Number(found.find(each => each.partition === partition).offset)
  // Where there is no such record, KafkaJS tells the end.
  const { end } = await range({ topic, partition })
  return offset < end ? offset : null
}

function bytes(text) {
  return text === null ? null : Buffer.from(text, 'base64')
}

function base64(buffer) {
  return buffer === null ? null : buffer.toString('base64')
}

async function perform(request) {
  switch (request.do) {
    case 'write':
      return { offsets: await write(request) }
    case 'read':
      return { records: await read(request) }
    case 'range':
      return await range(request)
    case 'time':
      return { offset: await time(request) }
    case 'join':
    case 'poll':
    case 'commit':
    case 'leave':
      return await members[request.do](request)
    default:
      throw new Error(`cannot ${request.do}`)
  }
}

// KafkaJS wraps the broker's error in errors of its retries.
function refusal(error) {
  for (let each = error; each; each = each.cause ?? each.originalError) {
    if (each.code > 0) return each.code
  }
  return null
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let answer
    try {
      answer = await perform(JSON.parse(line))
    } catch (error) {
      const code = refusal(error)
      answer = code === null ? { failure: String(error?.stack ?? error) } : { error: code }
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`)
  }
}

main()
