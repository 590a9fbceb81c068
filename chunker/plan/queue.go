package plan

// A Queue describes the direct I/O requests. Data that leaves the page cache before it is read
// again gains nothing from the cache. Caching it would only cost a copy, free pages, and the pages
// that it evicts.
type Queue struct {
	Requests int // number of requests, half of them for reads; 0: no direct I/O
	Bytes    int // memory of each

	Input, Output bool // whether they use direct I/O, as temporary files do
}

const (
	// RequestBytes is the memory of a request. Fewer than leastRequests requests do not keep a disk
	// busy, and mostRequests keep any disk busy. Together they get at most 1/queueShare of the
	// memory. If that is little, each request gets less memory, but enough for a block of a part.
	RequestBytes      = 1 << 20
	leastRequestBytes = MaxUnitBytes
	leastRequests     = 16
	mostRequests      = 48
	queueShare        = 16

	// Temporary data may fill 1/cacheShare of the memory beyond the limit without being evicted
	// before it is read back. The input and the output pass through the rest.
	cacheShare = 2
)

// queue returns the requests for temporary files, the input and the output, if the page cache is
// too small. It assumes that the input is not in the page cache. Queue.of clears Input if it is.
func (f *Facts) queue(bytes int64) Queue {
	q := Queue{Bytes: RequestBytes}
	for q.Bytes > leastRequestBytes && bytes/queueShare < mostRequests*int64(q.Bytes) {
		q.Bytes /= 2
	}
	q.Requests = int(min(bytes/queueShare/int64(q.Bytes), mostRequests))
	if !f.leavesCache() || q.Requests < leastRequests {
		return Queue{}
	}
	q.Input = f.onHost() && f.Seekable && !f.Remote && !f.InPlace
	q.Output = f.onHost() && f.Checkpoint == nil && !f.Output.Set && f.ReservedBytes() > 0
	return q
}

// of returns the part of the queue that a strategy uses.
func (q Queue) of(s Strategy, cold bool) Queue {
	p := s.Properties()
	q.Input = q.Input && cold && p.DirectIO
	q.Output = q.Output && p.DirectIO
	return q
}

func (q *Queue) memory() int64 { return int64(q.Requests) * int64(q.Bytes) }

// leavesCache reports whether the page cache is too small to hold temporary data until it is read
// back.
func (f *Facts) leavesCache() bool {
	beside := max(f.Memory-f.Request.MemoryBytes, 0)
	return f.Spill.OnDisk && f.Memory > 0 && f.bytes() > beside/cacheShare
}
