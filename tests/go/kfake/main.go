// kfake for the bench of brokers in tests: on each line "start" of its stdin it starts a cluster of
// one broker and prints its address, on "stop" it ends that cluster and prints "stopped". It ends
// with its stdin.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	var cluster *kfake.Cluster
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "start" && cluster == nil:
			made, err := kfake.NewCluster(
				kfake.NumBrokers(1), kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(1))
			if err != nil {
				return err
			}
			cluster = made
			fmt.Println(cluster.ListenAddrs()[0])
		case line == "stop" && cluster != nil:
			cluster.Close()
			cluster = nil
			fmt.Println("stopped")
		default:
			return fmt.Errorf("not now: %q", line)
		}
	}
	return lines.Err()
}
