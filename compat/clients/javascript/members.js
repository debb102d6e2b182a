// KafkaJS consumers in groups, by the names that the suite gives them; compat/members/program.py tells what is asked.
//
// KafkaJS pushes what it reads; it is kept here until it is polled.

const SESSION_TIMEOUT_MS = 10_000
const HEARTBEAT_INTERVAL_MS = 300
const FETCH_WAIT_MS = 100
const LOOK_INTERVAL_MS = 5

class Member {
  constructor(kafka, tell, { group, topic }) {
    this.topic = topic
    this.arrived = []
    this.assigned = []
    this.positions = new Map()
    this.failure = null
    this.consumer = kafka.consumer({
      groupId: group,
      sessionTimeout: SESSION_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_INTERVAL_MS,
      maxWaitTimeInMs: FETCH_WAIT_MS,
    })
    const { CRASH, GROUP_JOIN, REBALANCING } = this.consumer.events
    this.consumer.on(GROUP_JOIN, ({ payload }) => {
      // What was not committed comes again.
      this.arrived = []
      this.positions.clear()
      this.assigned = payload.memberAssignment[topic] ?? []
    })
    this.consumer.on(REBALANCING, () => (this.assigned = []))
    this.consumer.on(CRASH, ({ payload }) => (this.failure = payload.error))
    this.take = ({ partition, message }) => this.arrived.push(tell(message, partition))
  }

  async join() {
    await this.consumer.connect()
    await this.consumer.subscribe({ topic: this.topic, fromBeginning: true })
    // Not waited for: it is over when the member has joined, which may need the others to do their part.
    const running = this.consumer.run({ autoCommit: false, eachMessage: async each => this.take(each) })
    running.catch(error => (this.failure = error))
  }

  async poll(timeoutMs) {
    const deadline = Date.now() + timeoutMs
    while (this.arrived.length === 0 && this.failure === null && Date.now() < deadline) {
      await new Promise(resolve => setTimeout(resolve, LOOK_INTERVAL_MS))
    }
    if (this.failure !== null) throw this.failure
    const records = this.arrived.splice(0)
    for (const { partition, offset } of records) this.positions.set(partition, offset + 1)
    return { records, assigned: this.assigned }
  }

  async commit() {
    const positions = [...this.positions]
    await this.consumer.commitOffsets(
      positions.map(([partition, offset]) => ({ topic: this.topic, partition, offset: String(offset) })),
    )
  }
}

class Members {
  constructor(kafka, tell) {
    this.kafka = kafka
    this.tell = tell
    this.joined = new Map()
  }

  async join(request) {
    const member = new Member(this.kafka, this.tell, request)
    this.joined.set(request.member, member)
    await member.join()
    return {}
  }

  async poll(request) {
    return await this.joined.get(request.member).poll(request.timeout_ms)
  }

  async commit(request) {
    await this.joined.get(request.member).commit()
    return {}
  }

  async leave(request) {
    const member = this.joined.get(request.member)
    this.joined.delete(request.member)
    await member.consumer.disconnect()
    return {}
  }
}

module.exports = { Members }
