// Checks histories of creates (drill/history.ts) for linearizability, by Porcupine: for each id, the store is a register
// that is written once.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

// A line of a history. Times are nanoseconds of one clock.
type operation struct {
	Id      string
	Content string
	// "stored" (200), "taken" (400, error 1004), "unknown" (503, or no response), or of a read of the whole store: "found", "absent".
	Outcome string
	Call    int64
	Return  int64
}

// "" is an id without a plant; contents are never empty.
var plants = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byId := map[string][]porcupine.Operation{}
		for _, each := range history {
			id := each.Input.(operation).Id
			byId[id] = append(byId[id], each)
		}
		partitions := [][]porcupine.Operation{}
		for _, each := range byId {
			partitions = append(partitions, each)
		}
		return partitions
	},
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		stored, op := state.(string), input.(operation)
		written := stored
		if stored == "" {
			written = op.Content
		}
		switch op.Outcome {
		case "stored":
			return written == op.Content, written
		case "taken":
			return stored != "" && stored != op.Content, stored
		case "found", "absent":
			return stored == op.Content, stored
		default:
			return true, written
		}
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

func main() {
	history := []porcupine.Operation{}
	counts := map[string]int{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var op operation
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		counts[op.Outcome]++
		// Without a result it may happen at any later time, or never.
		if op.Outcome == "unknown" {
			op.Return = math.MaxInt64
		}
		history = append(history, porcupine.Operation{Input: op, Call: op.Call, Return: op.Return})
	}
	if err := lines.Err(); err != nil || len(history) == 0 {
		fmt.Fprintln(os.Stderr, "no whole history:", err)
		os.Exit(2)
	}
	result, info := porcupine.CheckOperationsVerbose(plants, history, 10*time.Minute)
	fmt.Println(len(history), "operations", counts, "linearizable:", result)
	if result != porcupine.Ok {
		if err := porcupine.VisualizePath(plants, info, "history.html"); err == nil {
			fmt.Println("see history.html")
		}
		os.Exit(1)
	}
}
