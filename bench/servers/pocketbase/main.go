// PocketBase as a framework (pocketbase.io/docs/go-overview): a token and a collection of its own, a commit for each plant.
// Its default is synchronous=NORMAL, so that a power cut loses the latest plants.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"
)

func main() {
	app := pocketbase.NewWithConfig(pocketbase.Config{DefaultDataDir: "pb_data"})
	app.RootCmd.AddCommand(&cobra.Command{
		Use:  "token",
		RunE: func(*cobra.Command, []string) error { return prepare(app) },
	})
	app.OnServe().BindFunc(func(event *core.ServeEvent) error {
		event.Router.POST("/plants", create).Bind(apis.RequireAuth())
		return event.Next()
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}

// Creates the collection and a user, and prints the user's token.
func prepare(app core.App) error {
	plants := core.NewBaseCollection("plants")
	id := plants.Fields.GetByName("id").(*core.TextField)
	id.Pattern, id.AutogeneratePattern, id.Min, id.Max = `^-?\d+$`, "", 1, 20
	plants.Fields.Add(&core.TextField{Name: "name"}, &core.TextField{Name: "tag"})
	if err := app.Save(plants); err != nil {
		return err
	}
	users, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return err
	}
	user := core.NewRecord(users)
	user.SetEmail("bench@plants.example")
	user.SetRandomPassword()
	if err := app.Save(user); err != nil {
		return err
	}
	token, err := user.NewAuthToken()
	fmt.Println(token)
	return err
}

func create(event *core.RequestEvent) error {
	var plant struct {
		ID        json.Number
		Name, Tag string
	}
	if err := event.BindBody(&plant); err != nil {
		return event.BadRequestError("", err)
	}
	plants, err := event.App.FindCachedCollectionByNameOrId("plants")
	if err != nil {
		return err
	}
	record := core.NewRecord(plants)
	record.Load(map[string]any{"id": plant.ID.String(), "name": plant.Name, "tag": plant.Tag})
	if err := event.App.Save(record); err != nil {
		return event.BadRequestError("", err)
	}
	return event.JSON(http.StatusOK, map[string]string{"name": plant.Name, "tag": plant.Tag})
}
