package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Sends a plant up to five times, unless Retry-After is beyond a minute.
func send(client *ClientWithResponses, plant NewPlant) (*CreatePlantResponse, error) {
	for delay := time.Second; ; delay *= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		response, err := client.CreatePlantWithResponse(ctx, plant)
		cancel()
		retryAfter := time.Duration(0)
		if err == nil {
			status := response.StatusCode()
			if status != 408 && status != 429 && status < 500 {
				return response, nil
			}
			seconds, _ := strconv.Atoi(response.HTTPResponse.Header.Get("Retry-After"))
			retryAfter = time.Duration(seconds) * time.Second
		}
		if delay > 8*time.Second || retryAfter > time.Minute {
			return response, err
		}
		time.Sleep(max(delay, retryAfter))
	}
}

func create(client *ClientWithResponses, plant NewPlant) {
	response, err := send(client, plant)
	if err != nil {
		log.Fatal(err)
	}
	if response.JSON200 != nil {
		fmt.Println(response.JSON200.Name)
		return
	}
	var refused Error
	if err := json.Unmarshal(response.Body, &refused); err != nil {
		// A proxy sent it.
		fmt.Println(response.StatusCode(), string(response.Body))
		return
	}
	fmt.Printf("%d %d: %s\n", response.StatusCode(), refused.Error, refused.Message)
}

func main() {
	baseURL, token := os.Getenv("BASE_URL"), os.Getenv("TOKEN")
	if baseURL == "" || token == "" {
		log.Fatal("BASE_URL and TOKEN are not set: export them first")
	}
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	client, err := NewClientWithResponses(baseURL, WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}
	id, tag := int64(9223372036854775046), "Alnus"
	create(client, NewPlant{Id: id, Name: "Alder", Tag: &tag})
	create(client, NewPlant{Id: id, Name: "Oak"})
}
