package xrcsim

// Parameters determine the counts, beside job and workload. Sizes are in bytes.
type Parameters struct {
	Inside  Inside  `json:"inside_node"`
	Connect Connect `json:"connect"`
	// QueuePair is the memory of a queue pair that sends, with its queues.
	QueuePair int `json:"queue_pair_bytes"`
	// ReceiveOnly is that of a receive-only one, which has no queues of its own.
	ReceiveOnly int `json:"receive_only_bytes"`
	// Buffers are posted to the shared receive queue of each process, each of so many
	// bytes.
	Buffers     int `json:"buffers"`
	BufferBytes int `json:"buffer_bytes"`
	// Initiators are the queue pairs by which a process sends over DC; another one
	// receives.
	Initiators int `json:"dc_initiators"`
}

// Default returns the default parameters, which have these sources:
//
//   - QueuePair: "as high as a gigabyte per process" for a job of 16K processes
//     [Sridhar 1.2.2] is 2^30 / 16,383 = 64 KiB; "several KB" and, in 1.3.2,
//     "several hundred KB" stand beside it.
//   - ReceiveOnly: a page; the kernel's record of a queue pair without queues. No
//     source has the figure.
//   - Buffers: 512, the size of the shared receive queue (MV2_SRQ_SIZE) in the user
//     guide of MVAPICH2.
//   - BufferBytes: 8 KiB, the least that [Sridhar 1.2.2] names.
//   - Initiators: 8, which UCX had as UCX_DC_MLX5_NUM_DCI for long (now 32).
func Default() Parameters {
	return Parameters{Inside: SharedMemory, Connect: OnDemand, QueuePair: 64 << 10, ReceiveOnly: 4 << 10, Buffers: 512, BufferBytes: 8 << 10, Initiators: 8}
}
