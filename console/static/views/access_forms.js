// @ts-check
// The forms of a new ACL, user and quota.

import { html, useState } from "../vendor/preact.js";
import { post } from "../api.js";
import { Button, Dialog, ErrorLine, Field } from "../parts/index.js";

/**
 * @param {{
 *   title: string, action: any, where: any, body: any, onClose: Call, onDone: Call, children: any,
 * }} props
 */
function Form({ title, action, where, body, onClose, onDone, children }) {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  async function send() {
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      onDone((await post(where, body)).done);
    } catch (failure) {
      setError(failure.message);
      setBusy(false);
    }
  }
  return html`<${Dialog} title=${title} onClose=${onClose} onSubmit=${send} footer=${[
    html`<${Button} onClick=${onClose}>Cancel<//>`,
    html`<${Button} type="submit" kind="primary" disabled=${busy}>${action}<//>`,
  ]}>
    ${children}
    <${ErrorLine} error=${error} />
  <//>`;
}

function useFields(first) {
  const [fields, set] = useState(first);
  const of = (name) => ({
    value: fields[name],
    onInput: (event) => set({ ...fields, [name]: event.target.value }),
  });
  return [fields, of];
}

const small = (words) => words.toLowerCase().replaceAll("_", " ");

/** @param {{ label: string, items: string[], of: any }} props */
function Choice({ label, items, of }) {
  return html`<${Field} label=${label}>
    <select ...${of}>
      ${items.map((one) => html`<option value=${one}>${small(one)}</option>`)}
    </select>
  <//>`;
}

/** @param {{ choices: Answer.AccessChoices, onClose: Call, onDone: Call }} props */
export function NewAcl({ choices, onClose, onDone }) {
  const [fields, of] = useFields({
    principal: "User:",
    permission: "ALLOW",
    operation: "READ",
    resource: "TOPIC",
    pattern: "LITERAL",
    name: "",
    host: "",
  });
  const operations = choices.operations[fields.resource];
  const operation = operations.includes(fields.operation) ? fields.operation : "ALL";
  const isCluster = fields.resource === "CLUSTER";
  const pattern = isCluster ? "LITERAL" : fields.pattern;
  return html`<${Form} title="Add an ACL" action="Add" where="/api/access/acls"
      body=${{ ...fields, operation, pattern }} onClose=${onClose} onDone=${onDone}>
    <div class="grid">
      <${Field} label="Principal">
        <input ...${of("principal")} placeholder="User:alice" autocomplete="off" />
      <//>
      <${Choice} label="Permission" items=${choices.permissions} of=${of("permission")} />
      <${Choice} label="Resource type" items=${Object.keys(choices.operations)}
          of=${of("resource")} />
      <${Choice} label="Operation" items=${operations}
          of=${{ ...of("operation"), value: operation }} />
      ${
        !isCluster &&
        html`
          <${Field} label="Resource name">
            <input ...${of("name")} placeholder="orders, or * for all" autocomplete="off" />
          <//>
          <${Choice} label="Pattern type" items=${choices.patterns} of=${of("pattern")} />
        `
      }
      <${Field} label="Host">
        <input ...${of("host")} placeholder="any host; 10.1.2.3, 10.0.0.0/8" autocomplete="off" />
      <//>
    </div>
  <//>`;
}

/** @param {{ choices: Answer.AccessChoices, onClose: Call, onDone: Call }} props */
export function NewUser({ choices, onClose, onDone }) {
  const [fields, of] = useFields({
    user: "",
    password: "",
    mechanism: "SCRAM-SHA-512",
    iterations: String(choices.iterations[0]),
  });
  return html`<${Form} title="Add a user or change a password" action="Save"
      where="/api/access/users" body=${fields} onClose=${onClose} onDone=${onDone}>
    <div class="grid">
      <${Field} label="User"><input ...${of("user")} autocomplete="off" /><//>
      <${Field} label="Password">
        <input type="password" ...${of("password")} autocomplete="new-password" />
      <//>
      <${Field} label="Mechanism">
        <select ...${of("mechanism")}>
          ${choices.mechanisms.map((one) => html`<option value=${one}>${one}</option>`)}
        </select>
      <//>
      <${Field} label=${`Iterations, ${choices.iterations.join(" to ")}`}>
        <input type="number" ...${of("iterations")} />
      <//>
    </div>
    <p class="quiet">The console sends the cluster a salted hash, never the password.</p>
  <//>`;
}

const OF_CLIENTS = [
  "producer_byte_rate",
  "consumer_byte_rate",
  "request_percentage",
  "controller_mutation_rate",
];
const OF_ADDRESSES = ["connection_creation_rate"];

export function NewQuota({ onClose, onDone }) {
  const [fields, of] = useFields({
    kind: "user",
    user: "",
    client: "",
    ip: "",
    quota: OF_CLIENTS[0],
    value: "",
  });
  const keys = fields.kind === "ip" ? OF_ADDRESSES : OF_CLIENTS;
  const quota = keys.includes(fields.quota) ? fields.quota : keys[0];
  const whose =
    fields.kind === "ip"
      ? { ip: fields.ip }
      : {
          user: fields.kind === "client" ? null : fields.user,
          "client-id": fields.kind === "user" ? null : fields.client,
        };
  return html`<${Form} title="Set a quota" action="Set" where="/api/access/quotas"
      body=${{ ...whose, set: { [quota]: fields.value } }} onClose=${onClose} onDone=${onDone}>
    <div class="grid">
      <${Field} label="Applies to">
        <select ...${of("kind")}>
          <option value="user">a user</option>
          <option value="client">a client id</option>
          <option value="both">a user with a client id</option>
          <option value="ip">an IP address</option>
        </select>
      <//>
      ${
        ["user", "both"].includes(fields.kind) &&
        html`<${Field} label="User">
          <input ...${of("user")} placeholder="alice, or * for the default" autocomplete="off" />
        <//>`
      }
      ${
        ["client", "both"].includes(fields.kind) &&
        html`<${Field} label="Client id">
          <input ...${of("client")} placeholder="reports, or * for the default"
              autocomplete="off" />
        <//>`
      }
      ${
        fields.kind === "ip" &&
        html`<${Field} label="IP address">
          <input ...${of("ip")} placeholder="10.1.2.3, or *" autocomplete="off" />
        <//>`
      }
      <${Field} label="Quota">
        <select ...${of("quota")} value=${quota}>
          ${keys.map((one) => html`<option value=${one}>${one}</option>`)}
        </select>
      <//>
      <${Field} label="Value">
        <input ...${of("value")} placeholder=${example(quota)} autocomplete="off" />
      <//>
    </div>
    <p class="quiet">
      Byte rates are bytes per second at each broker, such as 10MB. request_percentage is a
      percentage of one thread's time. The other rates are partitions or connections per second.
    </p>
  <//>`;
}

/** @param {string} quota */
function example(quota) {
  if (quota.includes("byte")) return "10MB";
  return quota.includes("percentage") ? "50" : "10";
}
