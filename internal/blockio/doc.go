// Package blockio moves blocks between memory and files, with a bounded number of requests in
// progress. It owns the memory of all requests. It knows nothing about records.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A request is one read or one write of a file, together with the memory that the data passes
// through. Direct I/O needs memory that is aligned and that stays in place until the disk is done;
// an object store needs several requests at a time, because each takes long. So the memory
// of the requests decides how much a file can do at once, and a [Pool] owns it.
//
//	                  Pool: the memory of all requests
//	            ┌───────────────────────┬──────────────┐
//	            │         reads         │    writes    │
//	            │ Demand │ Demand, Ahead│    Write     │
//	            └────┬───┴──────┬───────┴──┬────────┬──┘
//	                 │          │          │        │
//	     Pool.ReadAt │   Reader │   Writer │        │ Assembler
//	a caller waits:  │   units  │   whole  │        │ pieces in any order
//	read now         │   ahead  │   blocks │        │ become whole requests
//	                 ▼          ▼          ▼        ▼
//	                       File: disk, object, spill file
//
// A [Pool] divides its requests into classes, and no class can starve another one. Requests of the
// class Ahead never take the last reads, which are for data that a caller is waiting for. Writes
// have memory of their own. A request that reads or writes waits for nothing but its file. So a
// caller that waits for memory waits only for files. Callers get memory in the order of arrival.
// There is one exception: an [Assembler] holds memory between calls, until a block is complete. It
// may hold three quarters of the writes. Further blocks go through the page cache.
//
// A [File] says which alignment it needs. The package rounds offsets and lengths itself: its
// callers read and write any range. A Reader reads each unit (a record or a block) once, roughly in
// order, for several callers at a time. If units have not been read ahead, the caller reads them
// itself at once. So reading ahead may stop at any time, for lack of memory, and everything
// still arrives. A Writer reports the error of a write with a later call, and at the latest when
// its [Batch] is awaited.
//
// Each request runs in a goroutine that ends with it. The state of a request is part of its
// memory's [Buf], so a request allocates nothing else.
package blockio
