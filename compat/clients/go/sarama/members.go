package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"odradek/compat/lines"
)

// member consumes in a group for as long as the loop in follow runs.
type member struct {
	group   sarama.ConsumerGroup
	inbox   *lines.Inbox
	cancel  context.CancelFunc
	ended   chan struct{}
	mutex   sync.Mutex
	session sarama.ConsumerGroupSession
	polled  map[int32]int64 // the position behind what was polled, by partition
	topic   string
}

func (c client) Join(asked lines.Request) (lines.Member, error) {
	config := settings()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = lines.SessionTimeout
	config.Consumer.Group.Heartbeat.Interval = lines.HeartbeatInterval
	strategy := sarama.NewBalanceStrategyRange()
	if asked.Strategy == lines.CooperativeSticky {
		strategy = sarama.NewBalanceStrategyCooperativeSticky()
	}
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	if asked.InstanceID != nil {
		config.Consumer.Group.InstanceId = *asked.InstanceID
	}
	group, err := sarama.NewConsumerGroup(c.bootstrap, asked.Group, config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	joined := &member{
		group: group, inbox: lines.NewInbox(), cancel: cancel, ended: make(chan struct{}),
		polled: map[int32]int64{}, topic: asked.Topic,
	}
	go joined.follow(ctx)
	return joined, nil
}

// follow goes from session to session.
func (m *member) follow(ctx context.Context) {
	defer close(m.ended)
	for ctx.Err() == nil {
		if err := m.group.Consume(ctx, []string{m.topic}, m); err != nil {
			if ctx.Err() == nil {
				m.inbox.Fail(err)
			}
			return
		}
	}
}

// Setup begins a session.
func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.session = session
	m.polled = map[int32]int64{}
	return nil
}

// Cleanup ends a session.
func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.session = nil
	return nil
}

// ConsumeClaim runs for as long as a partition is assigned.
func (m *member) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	m.inbox.Assign(claim.Partition())
	defer m.inbox.Revoke(claim.Partition())
	for each := range claim.Messages() {
		m.inbox.Put(tell(each))
	}
	return nil
}

func (m *member) Poll(timeout time.Duration) ([]lines.Record, []int32, error) {
	read, assigned, err := m.inbox.Take(timeout)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, each := range read {
		m.polled[*each.Partition] = each.Offset + 1
	}
	return read, assigned, err
}

func (m *member) Commit() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.session == nil {
		return errors.New("a commit between two sessions")
	}
	for partition, position := range m.polled {
		m.session.MarkOffset(m.topic, partition, position, "")
	}
	m.session.Commit()
	return nil
}

func (m *member) Leave() error {
	m.cancel()
	<-m.ended
	return m.group.Close() // which keeps a static member in the group
}
