// An SDK with one of each kind of method that recording has to get right.
import https from "node:https";
import net from "node:net";

const API = "https://api.acme.com/v1";

class Things {
  constructor(client) {
    this._client = client;
  }
  // The identifier is an argument, the keys come after it.
  update(thingID, body, options) {
    return this._client.request("PATCH", `/things/${thingID}`, body);
  }
  // The identifier is a key.
  retrieve({ shelf_id, thing_id, ...query }) {
    return this._client.request("GET", `/shelves/${shelf_id}/things/${thing_id}`, query);
  }
  // A key decides which operation it is.
  search({ shelf_id, ...query }) {
    return this._client.request("GET", shelf_id ? `/shelves/${shelf_id}/search` : "/search", query);
  }
  // A key has to be a list.
  createMany(body) {
    return this._client.request("POST", "/things/batch", body.things.map((thing) => thing.name));
  }
  // Asks again for ever.
  async waitFor(thingID) {
    for (;;) await this._client.request("GET", `/things/${thingID}/status`);
  }
  // Pages when it is looked at.
  list() {
    const client = this._client;
    return {
      async *[Symbol.asyncIterator]() {
        yield await client.request("GET", "/things");
      },
    };
  }
}

export class Acme {
  constructor(token) {
    if (typeof token !== "string") throw new Error("a token is needed");
    this.things = new Things(this);
    this.self = this;
  }
  request(method, path, body) {
    return fetch(`${API}${path}`, { method, body: JSON.stringify(body) });
  }
  get(path) {
    return this.request("GET", path);
  }
  // A call in the middle of a chain.
  shelves(shelfID) {
    return { archive: (reason) => this.request("DELETE", `/shelves/${shelfID}/archive/${reason}`) };
  }
  upload(name) {
    const request = https.request({ hostname: "upload.acme.com", path: `/files/${encodeURIComponent(name)}?x=1`, method: "PUT" });
    request.end("content");
  }
  report() {
    return fetch(`${API}/graphql`, { method: "POST", body: JSON.stringify({ query: "query Report { things(first: 1) { id } }" }) });
  }
  // Goes round what is watched: refused.
  raw() {
    net.connect(443, "api.acme.com");
  }
  version() {
    return "2.1.0";
  }
  stop() {
    process.exit(7);
  }
}
