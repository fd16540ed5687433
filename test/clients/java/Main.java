import com.fasterxml.jackson.core.JsonProcessingException;
import java.time.Duration;
import plants.ApiClient;
import plants.ApiException;
import plants.JSON;
import plants.api.PlantsApi;
import plants.model.NewPlant;
import plants.model.Plant;

public class Main {
  /** Sends a plant up to five times, unless Retry-After is beyond a minute. */
  static Plant send(PlantsApi api, NewPlant plant) throws ApiException, InterruptedException {
    for (long delay = 1; ; delay *= 2) {
      try {
        return api.createPlant(plant);
      } catch (ApiException failure) {
        int status = failure.getCode(); // 0 of a broken connection
        boolean isFinal = status != 0 && status != 408 && status != 429 && status < 500;
        long retryAfter =
            status == 0
                ? 0
                : failure.getResponseHeaders().firstValue("retry-after")
                    .filter(value -> value.matches("\\d{1,5}")).map(Long::parseLong).orElse(0L);
        if (isFinal || delay > 8 || retryAfter > 60) throw failure;
        Thread.sleep(1_000 * Math.max(delay, retryAfter));
      }
    }
  }

  static void create(PlantsApi api, NewPlant plant) throws Exception {
    try {
      System.out.println(send(api, plant).getName());
    } catch (ApiException failure) {
      if (failure.getCode() == 0) throw failure;
      System.out.println(failure.getCode() + " " + describe(failure.getResponseBody()));
    }
  }

  /** Number and message of a response; its body if a proxy sent it. */
  static String describe(String body) {
    try {
      plants.model.Error error =
          JSON.getDefault().getMapper().readValue(body, plants.model.Error.class);
      return error.getError() + ": " + error.getMessage();
    } catch (JsonProcessingException noError) {
      return body;
    }
  }

  public static void main(String[] args) throws Exception {
    String baseUrl = System.getenv("BASE_URL");
    String token = System.getenv("TOKEN");
    if (baseUrl == null || token == null) {
      System.err.println("BASE_URL and TOKEN are not set: export them first");
      System.exit(1);
    }
    ApiClient client = new ApiClient();
    client.updateBaseUri(baseUrl);
    client.setReadTimeout(Duration.ofSeconds(30));
    client.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + token));
    PlantsApi api = new PlantsApi(client);
    try {
      create(api, new NewPlant().id(9223372036854775047L).name("Alder").tag("Alnus"));
      create(api, new NewPlant().id(9223372036854775047L).name("Oak"));
    } catch (ApiException failure) {
      System.err.println(baseUrl + ": " + failure.getCause());
      System.exit(1);
    }
  }
}
