package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"client/plants"
)

// bearer gives each request the token.
type bearer string

func (token bearer) BearerAuth(context.Context, plants.OperationName) (plants.BearerAuth, error) {
	return plants.BearerAuth{Token: string(token)}, nil
}

// refusal is a response other than 200: its status, number and message; its status and body if a proxy sent it.
type refusal string

func (text refusal) Error() string { return string(text) }

// retrying sends up to five times, unless Retry-After is beyond a minute.
type retrying struct{ http.Client }

func (client *retrying) Do(request *http.Request) (*http.Response, error) {
	for delay := time.Second; ; delay *= 2 {
		response, err := client.Client.Do(request)
		isLast, retryAfter := delay > 8*time.Second, time.Duration(0)
		if err == nil {
			status := response.StatusCode
			if status == http.StatusOK {
				return response, nil
			}
			seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
			retryAfter = time.Duration(seconds) * time.Second
			isFinal := status != 408 && status != 429 && status < 500
			if isLast || isFinal || retryAfter > time.Minute {
				return nil, describe(response)
			}
			response.Body.Close()
		}
		if isLast {
			return nil, err
		}
		time.Sleep(max(delay, retryAfter))
		if request.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
	}
}

func describe(response *http.Response) error {
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var parsed plants.Error
	if json.Unmarshal(body, &parsed) != nil {
		return refusal(fmt.Sprintf("%d %s", response.StatusCode, body))
	}
	return refusal(fmt.Sprintf("%d %d: %s", response.StatusCode, parsed.Error, parsed.Message))
}

func create(client *plants.Client, plant plants.NewPlant) {
	response, err := client.CreatePlant(context.Background(), &plant)
	var refused refusal
	if errors.As(err, &refused) {
		fmt.Println(refused)
	} else if err != nil {
		log.Fatal(err)
	} else if stored, isStored := response.(*plants.PlantHeaders); isStored {
		fmt.Println(stored.Response.Name)
	}
}

func main() {
	log.SetFlags(0)
	baseURL, token := os.Getenv("BASE_URL"), os.Getenv("TOKEN")
	if baseURL == "" || token == "" {
		log.Fatal("BASE_URL and TOKEN are not set: export them first")
	}
	http := &retrying{http.Client{Timeout: 30 * time.Second}}
	client, err := plants.NewClient(baseURL, bearer(token), plants.WithClient(http))
	if err != nil {
		log.Fatal(err)
	}
	id := int64(9223372036854775044)
	create(client, plants.NewPlant{ID: id, Name: "Alder", Tag: plants.NewOptString("Alnus")})
	create(client, plants.NewPlant{ID: id, Name: "Oak"})
}
