package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
)

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
	created, err := client.CreatePlantWithResponse(context.Background(), plant)
	if err != nil {
		panic(err)
	}
	fmt.Println(created.JSON200.Name)
	refused, err := client.CreatePlantWithResponse(context.Background(), NewPlant{Id: plant.Id, Name: "Oak"})
	if err != nil {
		panic(err)
	}
	fmt.Println(refused.StatusCode(), refused.JSON400.Error)
}
