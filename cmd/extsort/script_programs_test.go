package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

var signalNames = map[string]syscall.Signal{
	"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "PIPE": syscall.SIGPIPE,
	"QUIT": syscall.SIGQUIT,
}

// statusMain runs a program and succeeds if the program ends with the status in the first
// argument.
func statusMain() {
	want := os.Args[1]
	cmd := command(os.Args[2:])
	cmd.Stdin = os.Stdin
	err := cmd.Run()
	if got := statusOf(err); got != want {
		fmt.Fprintf(os.Stderr, "status: %v ended with %s, not %s\n", os.Args[2:], got, want)
		os.Exit(1)
	}
}

// feedMain runs a program and feeds it a number of random bytes. The input then stays open, so
// that the program waits for more. In that state, it receives a signal, which must kill it soon.
func feedMain() {
	name := os.Args[1]
	// A signal that is caught here is not ignored in the child, even if this test runs under
	// nohup.
	signal.Notify(make(chan os.Signal, 1), signalNames[name])
	size, err := strconv.Atoi(os.Args[2])
	exitOn(err)
	cmd := command(os.Args[3:])
	taken, input, err := os.Pipe()
	exitOn(err)
	cmd.Stdin = taken
	exitOn(cmd.Start())
	taken.Close() // makes the pipe break if the program dies
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{}).Read(data)
	_, err = input.Write(data)
	exitOn(err)
	awaitWork(cmd.Process.Pid, input, size)
	exitOn(cmd.Process.Signal(signalNames[name]))
	patience := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	got := statusOf(cmd.Wait())
	patience.Stop()
	if got != name {
		fmt.Fprintf(os.Stderr, "feed: %v ended with %s, not by %s\n", os.Args[3:], got, name)
		os.Exit(1)
	}
}

func command(args []string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// statusOf returns how a program ended: its exit code, or the name of the signal that killed it.
func statusOf(err error) string {
	var exit *exec.ExitError
	if err == nil {
		return "0"
	}
	if !errors.As(err, &exit) {
		return err.Error()
	}
	if exit.ExitCode() < 0 {
		for name, number := range signalNames {
			if exit.Error() == "signal: "+number.String() {
				return name
			}
		}
		return exit.Error()
	}
	return strconv.Itoa(exit.ExitCode())
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
