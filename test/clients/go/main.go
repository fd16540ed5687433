package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"time"
)

func create(client *ClientWithResponses, plant NewPlant) (*CreatePlantResponse, error) {
	for delay := 200 * time.Millisecond; ; delay *= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		answer, err := client.CreatePlantWithResponse(ctx, plant)
		cancel()
		isFinal := err == nil && answer.StatusCode() != 408 && answer.StatusCode() != 429 && answer.StatusCode() < 500
		if isFinal || delay > 3*time.Second {
			return answer, err
		}
		time.Sleep(delay)
	}
}

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
		return nil
	}
	client, err := NewClientWithResponses(os.Getenv("BASE_URL"), WithRequestEditorFn(authorize))
	if err != nil {
		panic(err)
	}
	tag := "Alnus"
	plant := NewPlant{Id: math.MaxInt64, Name: "Alder", Tag: &tag}
	created, err := create(client, plant)
	if err != nil {
		panic(err)
	}
	fmt.Println(created.JSON200.Name)
	refused, err := create(client, NewPlant{Id: plant.Id, Name: "Oak"})
	if err != nil {
		panic(err)
	}
	fmt.Println(refused.StatusCode(), refused.JSON400.Error)
}
