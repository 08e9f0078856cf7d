package boltapi

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/server/request"
)

// metrics are the listener's metrics.
type metrics struct {
	connections                     *prometheus.GaugeVec
	total, failed, telemetry        *prometheus.CounterVec
	records, received, sent, resets prometheus.Counter
	waiting, transactions           prometheus.Gauge
	messages                        map[bolt.Tag]map[string]prometheus.Counter
	seconds                         map[bolt.Tag]prometheus.Observer
}

var outcomes = map[byte]string{0x70: "success", 0x7E: "ignored", 0x7F: "failure"}

func newMetrics(registry prometheus.Registerer) metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "hopgate_bolt_" + name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hopgate_bolt_" + name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "hopgate_bolt_" + name, Help: help})
	}
	m := metrics{
		connections: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "hopgate_bolt_connections", Help: "Open Bolt connections, by transport.",
		}, []string{"transport"}),
		total:        counters("connections_total", "Bolt connections that completed the handshake.", "transport", "version"),
		failed:       counters("handshakes_failed_total", "Connections closed before the handshake, by reason.", "reason"),
		telemetry:    counters("driver_api_total", "Driver APIs used, as reported by TELEMETRY messages.", "api"),
		records:      counter("records_total", "Rows that were sent."),
		received:     counter("received_bytes_total", "Bytes of messages received."),
		sent:         counter("sent_bytes_total", "Bytes that were sent."),
		resets:       counter("resets_total", "Connections reset by clients."),
		waiting:      gauge("results_waiting", "Open results waiting for the client to pull more rows."),
		transactions: gauge("transactions_open", "Open explicit transactions."),
		messages:     map[bolt.Tag]map[string]prometheus.Counter{}, seconds: map[bolt.Tag]prometheus.Observer{},
	}
	messages := counters("messages_total", "Messages answered, by message and response type.", "message", "outcome")
	seconds := request.Seconds("hopgate_bolt_message_duration_seconds", "Time to answer a message.", "message")
	for _, t := range bolt.Tags() {
		m.seconds[t] = seconds.WithLabelValues(t.String())
		m.messages[t] = map[string]prometheus.Counter{}
		for _, o := range outcomes {
			m.messages[t][o] = messages.WithLabelValues(t.String(), o)
		}
	}
	registry.MustRegister(m.connections, m.total, m.failed, m.telemetry, m.records, m.received, m.sent, m.resets, m.waiting, m.transactions, messages, seconds)
	return m
}

func (m *metrics) refused(reason string) { m.failed.WithLabelValues(reason).Inc() }

func (m *metrics) opened(transport string, v bolt.Version) {
	m.connections.WithLabelValues(transport).Inc()
	m.total.WithLabelValues(transport, v.String()).Inc()
}

func (m *metrics) closed(transport string) { m.connections.WithLabelValues(transport).Dec() }

func (m *metrics) answered(t bolt.Tag, answer byte, took time.Duration) {
	if c := m.messages[t][outcomes[answer]]; c != nil {
		c.Inc()
		m.seconds[t].Observe(took.Seconds())
	}
	if t == bolt.Reset {
		m.resets.Inc()
	}
}
