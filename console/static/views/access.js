// @ts-check
// The users of a cluster, their rights and quotas, and delegation tokens.

import { html, useState } from "../vendor/preact.js";
import { useAddressState } from "../address.js";
import { path, post, useGet } from "../api.js";
import {
  Badge,
  Button,
  Confirm,
  ErrorLine,
  Note,
  Page,
  Panel,
  SearchBox,
  Table,
  Waiting,
  count,
  Time,
} from "../parts/index.js";
import { useDenied } from "../rights.js";
import { NewAcl, NewQuota, NewUser } from "./access_forms.js";

const NO_ACL =
  "No ACLs: only super users have access, unless allow.everyone.if.no.acl.found is true";

/** @param {{ about: Partial<Answer.About> }} props */
export function Access({ about }) {
  const [word, setWord] = useAddressState("q");
  const { data, error, again } = useGet(path("/api/access", { q: word }));
  const [dialog, setDialog] = useState(null);
  const [said, setSaid] = useState(null);
  function changed(words) {
    setSaid(words);
    setDialog(null);
    again();
  }
  const deniedOf = useDenied(about.writes, "cluster");
  const shared = { writes: about.writes, onOpen: setDialog, noChange: deniedOf("ALTER") };
  return html`<${Page} title="Users and ACLs"
      about="SCRAM users, ACLs, quotas and delegation tokens."
      actions=${html`<${SearchBox} label="Find a user or a topic" value=${word}
          onInput=${setWord} />`}>
    <${ErrorLine} error=${error} onAgain=${again} />
    ${said && html`<div role="status"><${Note}>${said}<//></div>`}
    ${!data && !error && html`<${Waiting} />`}
    ${
      data &&
      html`
        <${Part} ...${shared} title="ACLs" part=${data.acls} columns=${ACLS} none=${NO_ACL}
            add="acl" what="Add an ACL…" remove=${removeAcl} />
        <${Part} ...${shared} title="SCRAM users" part=${data.users} columns=${USERS}
            none="No SCRAM users" add="user" what="Add a user…"
            remove=${removeUser} />
        <${Part} ...${shared} noChange=${deniedOf("ALTER_CONFIGS")}
            title="Quotas" part=${data.quotas} columns=${QUOTAS}
            none="No quotas: clients are not limited" add="quota" what="Set a quota…"
            remove=${removeQuota} />
        <${Part} ...${shared} title="Delegation tokens" part=${data.tokens} columns=${TOKENS}
            none="No delegation tokens" />
      `
    }
    ${
      data &&
      dialog?.kind === "acl" &&
      html`<${NewAcl} choices=${data.choices} onClose=${() => setDialog(null)}
          onDone=${changed} />`
    }
    ${
      data &&
      dialog?.kind === "user" &&
      html`<${NewUser} choices=${data.choices} onClose=${() => setDialog(null)}
          onDone=${changed} />`
    }
    ${
      dialog?.kind === "quota" &&
      html`<${NewQuota} onClose=${() => setDialog(null)} onDone=${changed} />`
    }
    ${
      dialog?.remove &&
      html`<${Confirm} title="Confirm the removal" action="Remove" danger
          onClose=${() => setDialog(null)} onConfirm=${async () => {
            const [where, body] = dialog.remove;
            changed((await post(where, body)).done);
          }}><p>${dialog.words}</p><//>`
    }
  <//>`;
}

/**
 * @param {{
 *   title: string, part: any, columns: any, none: any, add: any, what: any, remove: any,
 *   writes: boolean, noChange: string | undefined, onOpen: Call,
 * }} props
 */
function Part({ title, part, columns, none, add, what, remove, writes, noChange, onOpen }) {
  const canChange = writes && !part.absent;
  const shown =
    canChange && remove
      ? [
          ...columns,
          {
            name: "",
            label: "Remove",
            show: (row) =>
              html`<div class="right">
                <${Button} kind="plain" disabled=${Boolean(noChange)} title=${noChange}
                    onClick=${() => onOpen(remove(row))}>Remove…<//>
              </div>`,
          },
        ]
      : columns;
  return html`<${Panel} title=${title} inside=${false} actions=${html`
    ${
      !part.absent &&
      html`<span class="quiet">
        ${part.count === part.of ? count(part.of) : `${count(part.count)} of ${count(part.of)}`}
      </span>`
    }
    ${
      canChange &&
      add &&
      html`<${Button} disabled=${Boolean(noChange)} title=${noChange}
          onClick=${() => onOpen({ kind: add })}>${what}<//>`
    }
  `}>
    ${
      part.absent
        ? html`<p class="absent quiet">${capital(part.absent)}</p>`
        : html`
            <${Table} label=${title} rows=${part.rows} columns=${shown}
                id=${(row) => row.join("\u0000")} empty=${html`<p class="absent quiet">
                  ${part.of ? "No row matches the search" : none}
                </p>`} />
            ${
              part.count > part.rows.length &&
              html`<p class="meta-foot quiet">
                Showing the first ${count(part.rows.length)}. Search to find the others.
              </p>`
            }
          `
    }
  <//>`;
}

const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);
const small = (words) => words.toLowerCase().replaceAll("_", " ");

// [principal, permission, operation, host, resource, pattern, name]
const ACLS = [
  { name: "Principal", wide: true, value: (row) => row[0], show: (row) => html`<b>${row[0]}</b>` },
  {
    name: "Permission",
    value: (row) => row[1],
    show: (row) => html`<${Badge} kind=${row[1] === "ALLOW" ? "good" : "bad"}>${small(row[1])}<//>`,
  },
  { name: "Operation", value: (row) => row[2], show: (row) => small(row[2]) },
  {
    name: "Resource type",
    value: (row) => row[4],
    show: (row) => html`<span class="quiet">${small(row[4])}</span>`,
  },
  {
    name: "Resource name",
    wide: true,
    value: (row) => row[6],
    show: (row) => html`<code>${row[6]}${row[5] === "PREFIXED" ? "…" : ""}</code>`,
  },
  {
    name: "Pattern type",
    value: (row) => row[5],
    show: (row) => html`<span class="quiet">${small(row[5])}</span>`,
  },
  {
    name: "Host",
    value: (row) => row[3],
    show: (row) => html`<span class="quiet">${row[3] === "*" ? "any host" : row[3]}</span>`,
  },
];
const USERS = [
  { name: "User", wide: true, value: (row) => row[0], show: (row) => html`<b>${row[0]}</b>` },
  { name: "Mechanism", value: (row) => row[1] },
  { name: "Iterations", number: true, value: (row) => row[2], show: (row) => count(row[2]) },
];
// [user, client id, ip, quota, value]
const QUOTAS = [
  { name: "User", wide: true, value: (row) => row[0] ?? "", show: (row) => whose(row[0]) },
  { name: "Client id", wide: true, value: (row) => row[1] ?? "", show: (row) => whose(row[1]) },
  { name: "IP address", value: (row) => row[2] ?? "", show: (row) => whose(row[2]) },
  { name: "Quota", value: (row) => row[3], show: (row) => html`<code>${row[3]}</code>` },
  { name: "Value", number: true, value: (row) => row[4], show: (row) => count(row[4]) },
];
// [id, owner, renewers, issued, expires, at most]
const TOKENS = [
  {
    name: "Token id",
    wide: true,
    value: (row) => row[0],
    show: (row) => html`<code>${row[0]}</code>`,
  },
  { name: "Owner", value: (row) => row[1] },
  { name: "Renewers", wide: true, value: (row) => row[2] },
  {
    name: "Issued",
    value: (row) => row[3],
    show: (row) => html`<${Time} ms=${row[3]} millis=${false} />`,
  },
  {
    name: "Expires",
    value: (row) => row[4],
    show: (row) => html`<${Time} ms=${row[4]} millis=${false} />`,
  },
  {
    name: "Latest expiry",
    value: (row) => row[5],
    show: (row) => html`<${Time} ms=${row[5]} millis=${false} />`,
  },
];

function whose(name) {
  if (name === null) return html`<span class="quiet">any</span>`;
  return name === "*" ? html`<i>default</i>` : name;
}

function removeAcl(row) {
  const [principal, permission, operation, host, resource, pattern, name] = row;
  const kind = permission === "ALLOW" ? "allows" : "denies";
  return {
    remove: [
      "/api/access/acls/remove",
      { principal, permission, operation, host, resource, pattern, name },
    ],
    words:
      `This removes the ACL that ${kind} ${principal} the operation ${small(operation)} ` +
      `on the ${small(resource)} ${name}.`,
  };
}

function removeUser([user, mechanism]) {
  return {
    remove: ["/api/access/users/remove", { user, mechanism }],
    words:
      `The user ${user} cannot log in with ${mechanism} after this. ` +
      "Open connections stay open.",
  };
}

function removeQuota([user, client, ip, quota]) {
  const entity = [user, client, ip].filter((one) => one !== null).join(", ");
  return {
    remove: ["/api/access/quotas", { user, "client-id": client, ip, unset: [quota] }],
    words: `This removes the quota ${quota} of ${entity}.`,
  };
}
