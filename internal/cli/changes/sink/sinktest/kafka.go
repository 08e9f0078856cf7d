package sinktest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topic is the name of the topic and the subject.
const topic = "changes"

// patience bounds the wait for what should be there.
const patience = 2 * time.Minute

// kafka is a broker of either kind.
type kafka struct {
	t          testing.TB
	port       int
	partitions int32
	start      func()
	stop       func()
}

// Kafka starts a fake broker with a topic of some partitions.
func Kafka(t testing.TB, partitions int32, more ...kfake.Opt) Broker {
	k := &kafka{t: t, port: freePort(t), partitions: partitions}
	dir := t.TempDir()
	var c *kfake.Cluster
	k.start = func() {
		var err error
		c, err = kfake.NewCluster(append([]kfake.Opt{
			kfake.NumBrokers(1), kfake.Ports(k.port), kfake.DataDir(dir), kfake.SeedTopics(partitions, topic),
		}, more...)...)
		require.NoError(t, err)
	}
	k.stop = func() { c.Close() }
	k.start()
	t.Cleanup(func() { k.stop() })
	return k
}

// JVM starts Kafka itself. Without its jars the test is skipped.
func JVM(t testing.TB, partitions int32) Broker {
	jars := os.Getenv("HOPGATE_KAFKA")
	if jars == "" {
		t.Skip("HOPGATE_KAFKA names no folder with the jars of Kafka")
	}
	k := &kafka{t: t, port: freePort(t), partitions: partitions}
	dir := t.TempDir()
	settings := filepath.Join(dir, "server.properties")
	require.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:%[2]d
listeners=PLAINTEXT://127.0.0.1:%[1]d,CONTROLLER://127.0.0.1:%[2]d
advertised.listeners=PLAINTEXT://127.0.0.1:%[1]d
controller.listener.names=CONTROLLER
log.dirs=%[3]s/log
num.partitions=%[4]d
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
`, k.port, freePort(t), dir, partitions), 0o600))
	java := func(main string, args ...string) *exec.Cmd {
		args = append([]string{"-Xmx512m", "-Dorg.apache.logging.log4j.level=ERROR", "-cp", filepath.Join(jars, "*"), main}, args...)
		cmd := exec.CommandContext(context.Background(), "java", args...) //nolint:gosec // the arguments are those above
		cmd.Dir = dir
		return cmd
	}
	out, err := java("kafka.tools.StorageTool", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAA", "--config", settings).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var broker *exec.Cmd
	k.start = func() {
		log, err := os.OpenFile(filepath.Join(dir, "broker.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		broker = java("kafka.Kafka", settings)
		broker.Stdout, broker.Stderr = log, log
		require.NoError(t, broker.Start())
		require.NoError(t, log.Close())
	}
	k.stop = func() {
		_ = broker.Process.Kill()
		_ = broker.Wait()
	}
	k.start()
	t.Cleanup(func() {
		_ = broker.Process.Kill()
		_ = broker.Wait()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "broker.log"))
			t.Logf("%s", log[max(0, len(log)-4000):])
		}
	})
	k.createTopic()
	return k
}

func (k *kafka) createTopic() {
	c := k.client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req := kmsg.NewPtrCreateTopicsRequest()
	to := kmsg.NewCreateTopicsRequestTopic()
	to.Topic, to.NumPartitions, to.ReplicationFactor = topic, k.partitions, 1
	req.Topics = append(req.Topics, to)
	for {
		res, err := req.RequestWith(ctx, c)
		require.NoError(k.t, ctx.Err())
		if err == nil && kerr.ErrorForCode(res.Topics[0].ErrorCode) == nil {
			return
		}
	}
}

func (k *kafka) client(more ...kgo.Opt) *kgo.Client {
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(fmt.Sprintf("127.0.0.1:%d", k.port))}, more...)...)
	require.NoError(k.t, err)
	return c
}

func (k *kafka) Address() string { return fmt.Sprintf("kafka://127.0.0.1:%d/%s", k.port, topic) }

func (k *kafka) Stop() { k.stop() }

func (k *kafka) Start() { k.start() }

// Events reads what is committed.
func (k *kafka) Events() (all []Event) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	from := map[int32]kgo.Offset{}
	for p := range k.partitions {
		from[p] = kgo.NewOffset().AtStart()
	}
	c := k.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	defer c.Close()
	byPartition := make([][]Event, k.partitions)
	for p := range k.partitions {
		byPartition[p] = nil
	}
	ends, at := k.ends(ctx, c), make([]int64, k.partitions)
	behind := func() bool {
		for p := range k.partitions {
			if at[p] < ends[p] {
				return true
			}
		}
		return false
	}
	for behind() {
		fetches := c.PollFetches(ctx)
		require.NoError(k.t, ctx.Err(), "%v of %v", at, ends)
		fetches.EachRecord(func(r *kgo.Record) {
			at[r.Partition] = r.Offset + 1
			if r.Attrs.IsControl() {
				return
			}
			e := Event{Partition: int(r.Partition), Key: string(r.Key), Value: string(r.Value)}
			for _, h := range r.Headers {
				switch h.Key {
				case "token":
					e.Token = string(h.Value)
				case "commit":
					e.Commit = number(k.t, string(h.Value))
				case "seq":
					e.Seq = number(k.t, string(h.Value))
				case "last":
					e.Last = string(h.Value) == "true"
				}
			}
			byPartition[r.Partition] = append(byPartition[r.Partition], e)
		})
	}
	for _, events := range byPartition {
		all = append(all, events...)
	}
	return all
}

// ends returns the last stable offset of each partition.
func (k *kafka) ends(ctx context.Context, c *kgo.Client) []int64 {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, 1
	to := kmsg.NewListOffsetsRequestTopic()
	to.Topic = topic
	for p := range k.partitions {
		in := kmsg.NewListOffsetsRequestTopicPartition()
		in.Partition, in.Timestamp = p, -1
		to.Partitions = append(to.Partitions, in)
	}
	req.Topics = append(req.Topics, to)
	ends := make([]int64, k.partitions)
	for try := true; try; { // it may be starting
		try = false
		res, err := req.RequestWith(ctx, c)
		require.NoError(k.t, ctx.Err(), "%v", err)
		if err != nil {
			try = true
			continue
		}
		for _, p := range res.Topics[0].Partitions {
			try = try || kerr.ErrorForCode(p.ErrorCode) != nil
			ends[p.Partition] = p.Offset
		}
	}
	return ends
}
