import plants.ApiClient;
import plants.ApiException;
import plants.JSON;
import plants.api.PlantsApi;
import plants.model.NewPlant;

public class Main {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("BASE_URL"));
    client.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + System.getenv("TOKEN")));
    PlantsApi api = new PlantsApi(client);
    NewPlant plant = new NewPlant().id(Long.MAX_VALUE).name("Alder").tag("Alnus");
    System.out.println(api.createPlant(plant).getName());
    try {
      api.createPlant(new NewPlant().id(Long.MAX_VALUE).name("Oak"));
    } catch (ApiException refused) {
      plants.model.Error error =
          JSON.getDefault().getMapper().readValue(refused.getResponseBody(), plants.model.Error.class);
      System.out.println(refused.getCode() + " " + error.getError());
    }
  }
}
