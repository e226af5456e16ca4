// Package commsplit computes MPI_Comm_split: each rank of a communicator gives a
// colour and a key, the ranks of one colour become a new communicator, in it
// they are numbered by key, and by old rank where keys are equal. Every rank
// learns its new rank and the new size, and gets a table that resolves any new
// rank to an old one. The source is [Sack 2].
//
// # Model
//
// Some processes (node agents, each with a few ranks, or the ranks themselves) each run
// one [Machine] of the same kind. A machine is a state machine: it is told the messages
// it awaited and returns those to send and those it awaits next. The caller carries
// messages; within one address space [Run] does, over an [Exchange] and with the
// processors of a [Loop]:
//
//	machines[i], err = commsplit.NewAuto(config, commsplit.DefaultCosts(), i, rows[i])
//	...
//	err = commsplit.Run(commsplit.Serial, commsplit.NewMemory(n), machines)
//	m := machines[i].Result().Memberships[0] // new rank and size
//	table := machines[i].Result().Table
//
// [Membership] and [Table] resolve new ranks:
//
//	old, ok := table.Find(m, r)
//	if !ok {
//		holder, position := table.Holder(m, r)
//		old, _ = /* at holder: */ table.Answer(position)
//		table.Learn(m, r, old)
//	}
//
// # Algorithms
//
// For n ranks on P processes; rounds are messages on the critical path.
//
//	                time                            memory         rounds
//	Conventional    O(n lg n)                       O(n)           lg P
//	Parallel p = 1  O(n)                            O(n)           lg P
//	Parallel p      O(p lg n + lg² n + n/p lg p)    O(n/p)         lg P/p + 2 lg n + 4
//	Ranges          O(n/P)                          O(n/P)         lg P
//	Hash            O(n/P lg P + c lg c)            O(n/P + c)     2 lg P
//	Quick (n = P)   O(lg² n)                        O(lg n)        O(lg² n)
//
// where c is the size of the largest class. Ranges works if classes are ranges
// of ranks. [Auto] merges few ranks in place; else it surveys the rows in one scan,
// lg P rounds, and chooses by [Costs].
//
// # Limits
//
// A table has less than 2^32 rows. A colour is any uint32 but [Undefined], a key
// any int32; colours are compared without a sign. Each old rank occurs once.
//
// # What is not here
//
// The package owns no goroutine, link or clock. The caller knows the ranks of each
// process and the form of addresses, and ends a split whose processes die (package
// tree/collective is one: agents sort the rows of their ranks). Messages are checked by
// the form of their step and by Config.Ranks, which bounds the memory that they can
// have taken (unknown, it bounds nothing): those that cannot be of the algorithm end
// the machine with [Outbox.Err]. Those that can are believed: a process that lies about
// its rows, or says nothing, makes the split wrong or keeps it from ending.
package commsplit
