// Package lines is the shared code of the Go programs; program.py above this folder explains the lines on stdin
// and stdout.
package lines

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// WaitMax is the time after which what a program waits for has failed.
var WaitMax = waitMax()

const (
	Linger          = 50 * time.Millisecond
	FetchBytesMax   = 10_000_000
	batchBytesMax   = 1_000_000
	overheadBytes   = 10_000
	RequestBytesMax = 64 * 1024 * 1024
)

func waitMax() time.Duration {
	seconds, err := strconv.Atoi(os.Getenv("WAIT_S_MAX"))
	if err != nil {
		panic("WAIT_S_MAX: " + err.Error())
	}
	return time.Duration(seconds) * time.Second
}

// Header is a pair in JSON.
type Header struct {
	Name  string
	Value []byte
}

// MarshalJSON writes [name, value].
func (h Header) MarshalJSON() ([]byte, error) { return json.Marshal([]any{h.Name, h.Value}) }

// UnmarshalJSON reads [name, value].
func (h *Header) UnmarshalJSON(told []byte) error {
	pair := []any{&h.Name, &h.Value}
	return json.Unmarshal(told, &pair)
}

// Record is one to be written, or one that was read.
type Record struct {
	Key         []byte   `json:"key"`
	Value       []byte   `json:"value"`
	Headers     []Header `json:"headers"`
	TimestampMs *int64   `json:"timestamp_ms"`
	Partition   *int32   `json:"partition"`
	Offset      int64    `json:"offset"`
}

// Timestamp is the zero time if the client chooses the timestamp.
func (r Record) Timestamp() time.Time {
	if r.TimestampMs == nil {
		return time.Time{}
	}
	return time.UnixMilli(*r.TimestampMs)
}

// Request is one line of stdin.
type Request struct {
	Do          string
	Topic       string
	Partition   int32
	Offset      int64
	Count       int
	Codec       string
	Acks        int
	Idempotent  bool
	Records     []Record
	TimestampMs int64 `json:"timestamp_ms"`
	// CommittedOnly skips records of open and aborted transactions.
	CommittedOnly bool `json:"committed_only"`
	// Member is the name of the member that acts; Membership is how it joins.
	Member string
	Membership
	TimeoutMs int64 `json:"timeout_ms"`
}

// ChoosesPartitions returns whether the records name their partitions.
func (r Request) ChoosesPartitions() bool { return len(r.Records) > 0 && r.Records[0].Partition != nil }

// BatchBytesMax is for clients that have one limit for batches and for records: as large as the largest record needs.
func (r Request) BatchBytesMax() int {
	limit := batchBytesMax
	for _, each := range r.Records {
		limit = max(limit, len(each.Value)+overheadBytes)
	}
	return limit
}

// Client is one client library.
type Client interface {
	// Write returns the records' offsets in their order.
	Write(Request) ([]int64, error)
	Read(Request) ([]Record, error)
	Range(Request) (first, end int64, err error)
	// OffsetAt returns a negative offset if no record is at or after the time.
	OffsetAt(Request) (int64, error)
	// Join makes a member of a group, which starts at the first record of partitions without a committed offset.
	Join(Request) (Member, error)
	// Refusal returns the protocol's code of a broker's error.
	Refusal(error) (code int, refused bool)
}

// Serve answers requests until stdin ends.
func Serve(client Client) {
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	joined := members{}
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		var asked Request
		if err == nil {
			err = json.Unmarshal(line, &asked)
		}
		if err != nil {
			panic(err)
		}
		if err := out.Encode(answer(client, joined, asked)); err != nil {
			panic(err)
		}
	}
}

func answer(client Client, joined members, asked Request) map[string]any {
	answer, err := perform(client, joined, asked)
	if err == nil {
		return answer
	}
	if code, refused := client.Refusal(err); refused {
		return map[string]any{"error": code}
	}
	return map[string]any{"failure": err.Error()}
}

func perform(client Client, joined members, asked Request) (map[string]any, error) {
	switch asked.Do {
	case "write":
		offsets, err := client.Write(asked)
		return map[string]any{"offsets": offsets}, err
	case "read":
		records, err := client.Read(asked)
		return map[string]any{"records": records}, err
	case "range":
		first, end, err := client.Range(asked)
		return map[string]any{"first": first, "end": end}, err
	case "time":
		offset, err := client.OffsetAt(asked)
		if err != nil || offset < 0 {
			return map[string]any{"offset": nil}, err
		}
		return map[string]any{"offset": offset}, nil
	case "join", "poll", "commit", "leave":
		return joined.perform(client, asked)
	}
	return nil, fmt.Errorf("cannot %q", asked.Do)
}
