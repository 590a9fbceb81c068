// Compare times extsort on this machine. It compares extsort with other programs (the race), and
// with other versions of extsort (the table of workloads, which decides about changes, and the
// confined table for data larger than memory).
//
//	go run ./cmd/compare                                 1 GiB of each kind of data
//	go run ./cmd/compare --workloads u64 --memory 256M   one kind of data, one memory limit
//	go run ./cmd/compare --size 64M --runs 3 --svg bars.svg      a quick look, with a plot
//	go run ./cmd/compare --size 512M --runs 3 --long 2           slow programs run only once
//	go run ./cmd/compare --sets                          set operations on two files of 1 GiB
//	go run ./cmd/compare --table                         the table; takes hours, can be continued
//	go run ./cmd/compare --table --rows zipf/*/pipe      the rows zipf/in-core/pipe, …
//	go run ./cmd/compare --table --versions old=a,new=b  report where b is slower than a
//	go run ./cmd/compare --table --report                print the report of an existing table
//	go run ./cmd/compare --confined                      8 GiB of each kind of data in 1 GiB
//	go run ./cmd/compare --confined --rows u64 --versions a=a,b=b   one row for two commands
//
// # The race
//
// A workload is a file of test data, made by `extsort gen`. A contender is a program or a
// pipeline that sorts this file. The contenders are extsort with each memory limit, from file to
// file and through pipes; the yardsticks cp and cp twice, which measure the cost of reading and
// writing the data once or twice; and the peers (other sort programs) that are installed, see
// peers.go.
//
// The contenders of a workload run in turns, A B C A B C, so that disturbances affect all of them
// alike. The first turn warms the page cache and does not count. With --long, a contender whose first
// run takes longer than that runs only once, and this run counts. Each output is checked: it must
// be in order, and the order-independent checksum of its records must be that of the input. Some
// peers sort another form of the data, such as lines of text. That form is made before the clock
// starts, and the output is converted back for the check. The report is Markdown on standard
// output; --json and --svg write the same figures to files.
//
// With --sets, the contenders run set operations and joins on two sorted files of 64-bit keys, which
// have a quarter of their records in common: extsort, GNU sort -m, comm and join on hexadecimal text,
// NumPy, and DuckDB, whose tables are loaded before the clock starts. The yardsticks are a copy of
// both files and extsort -m. The number of records or counts of each output is checked, the checksum
// if the output is one of the generated parts, and the order of extsort's outputs.
//
// # The table of workloads
//
// A row is a kind of data, a memory limit and a place, such as u64/quarter/ext4. The data either
// fits (in-core), or is 4 or 16 times the limit. Input, output and spill files are on the disk of
// --work or in a tmpfs, or input and output are pipes. The contenders are cp; cp and sync, which
// is as durable as extsort -o; each version of extsort; the last version with each strategy
// forced; and in tmpfs, the first version with redirected output.
//
// All runs of a row are made in random order. Before each run, the outputs are removed, memory
// and disk have settled, and the input is in the page cache. The first output of each contender
// is checked. Each run is appended to the file --out as a line of JSON, with the seed of the
// order. Runs that the file already contains are not repeated.
//
// The report lists for each row the medians, their ratios, the predicted strategy and the one
// that ran, predicted over measured seconds, and the regret, which is the median divided by that
// of the best forced strategy. Below the table are the rows that exceed a limit. A row is marked
// "slower" if the last version is more than 5 % slower than the first and neither median is
// within the range of the other version, and "slower?" if one of them is.
//
// # The confined table
//
// In the table of workloads, the input is in the page cache, and many spilled and output pages
// stay there. --confined measures sorts of data that is larger than all memory. Each run is in a
// memory cgroup (Linux, v1 or v2) of --limit, which includes the processes and the page cache of
// the files they read and write. The input is only on disk, and the output is durable at the end.
// The data is 8 times the limit; extsort may use half of the limit (-S).
//
// The contenders are cp and sync (cp+sync); the same twice (two cp+sync), which is the I/O that
// an out-of-core sort requires; each version; the last version with each strategy forced; and the
// peers STXXL, DuckDB and bsort, once each and only for u64 and 100-byte records. Order, checks,
// the file of runs and its continuation work as in the table of workloads.
//
// In addition to times and plans, the report contains the bytes that the disk of the data
// transferred, in total and per second, for extsort and for cp+sync. These counters include all
// processes of the machine, so nothing else should run. It also contains the bytes that the
// processes themselves read and wrote, and CPU seconds in user mode and in the kernel. It lists
// rows that take longer than 1.25 × two cp+sync (nearly sorted: 0.8 ×, 100-byte records: 1.2 ×),
// and rows in which the disk reaches less than 0.85 × its rate for cp although the processors are
// less than 90 % busy.
//
// The cgroup is created below that of the process or, if that is impossible, further up, and
// removed at the end. Creating one requires root, or on systems with systemd: systemd-run --user
// --scope -p Delegate=yes go run ./cmd/compare --confined. If memory is scarce, the kernel drops
// some read-ahead pages before they are used. Then even cp reads more bytes than the file has, so
// the report lists its traffic, too.
//
// All data is in a temporary directory, which is removed at the end, also after Ctrl-C.
package main
