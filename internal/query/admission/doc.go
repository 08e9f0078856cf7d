// Package admission decides which requests run, and on which cores: a Gate admits them within Limits, queues others, and lets long-running
// requests take turns on the cores, one of which stays free for short ones. A Ticket is what one request holds of it.
package admission
