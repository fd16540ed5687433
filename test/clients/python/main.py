import os

from plants import AuthenticatedClient
from plants.api.plants import create_plant
from plants.models import Error, NewPlant, Plant

client = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["TOKEN"])
id = 9223372036854775807
created = create_plant.sync(client=client, body=NewPlant(id=id, name="Alder", tag="Alnus"))
assert isinstance(created, Plant)
print(created.name)
refused = create_plant.sync_detailed(client=client, body=NewPlant(id=id, name="Oak"))
assert isinstance(refused.parsed, Error)
print(int(refused.status_code), refused.parsed.error)
