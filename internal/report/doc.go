// Package report describes a job that is over: the counters of every agent, folded
// together level by level of the tree on their way up (Level), the records of nodes and
// ranks that only --report asks for, the table of --stats and the JSON of --report
// (Report), whose schema is docs/report-v1.schema.json.
//
// Not here: the counting (packages cache and internal/overlay), the collecting (package
// internal/agent), the sentences about failures (package launcher).
package report
