// What a bundle says of itself for people, and parts of raw values by JSON pointers. Written from the descriptions in
// schema.graphql, apart from the Rust code.

import { compareBytes } from './json.mjs';

/** The part of a canonical value at a JSON pointer (RFC 6901); null where it leads nowhere, undefined when it is none. */
export function part(value, pointer) {
  if (pointer == null) return value;
  if (pointer !== '' && !pointer.startsWith('/')) return undefined;
  if (/~([^01]|$)/.test(pointer)) return undefined;
  let found = value;
  for (const token of pointer.split('/').slice(1).map((text) => text.replaceAll('~1', '/').replaceAll('~0', '~'))) {
    if (found instanceof Map) found = found.get(token);
    else if (Array.isArray(found) && /^(0|[1-9]\d*)$/.test(token)) found = found[token];
    else return null;
    if (found === undefined) return null;
  }
  return found;
}

const text = (object, name) => (object instanceof Map && typeof object.get(name) === 'string' ? object.get(name) : undefined);
const items = (object, name) => {
  const value = object instanceof Map ? object.get(name) : undefined;
  return Array.isArray(value) ? value : [];
};
const objects = (object, name) => items(object, name).filter((item) => item instanceof Map);
const member = (object, name) => (object instanceof Map && object.get(name) instanceof Map ? object.get(name) : new Map());
const pairs = (map) =>
  [...map].filter(([, value]) => typeof value === 'string').map(([key, value]) => ({ key, value })).sort((a, b) => compareBytes(a.key, b.key));
const trimmed = (value) => value?.trim() || undefined;

const link = (object) => ({ name: text(object, 'name'), url: text(object, 'url') });
/** A name without its legal form. */
const shortName = (name) => {
  const found = /^(.*?\S)[ ,]+(inc|llc|ltd|gmbh|corp|co|ag|sa|limited|corporation)$/i.exec(name.trim().replace(/\.+$/, '').replace(/S\.A$/i, 'SA'));
  return found && !found[1].endsWith('&') ? shortName(found[1].replace(/[ ,]+$/, '')) : name.trim();
};
const crd = (internal) => (object) => ({
  name: text(object, 'name') ?? '',
  version: text(object, 'version') ?? '',
  kind: text(object, 'kind') ?? '',
  displayName: text(object, 'displayName'),
  description: text(object, 'description'),
  isInternal: internal.includes(text(object, 'name') ?? ''),
  resources: objects(object, 'resources').map((item) => ({ name: text(item, 'name') ?? '', version: text(item, 'version') ?? '', kind: text(item, 'kind') ?? '' })),
  specDescriptors: objects(object, 'specDescriptors').map(descriptor),
  statusDescriptors: objects(object, 'statusDescriptors').map(descriptor),
});
const strings = (object, name) => items(object, name).filter((item) => typeof item === 'string');
const descriptor = (object) => ({
  path: text(object, 'path') ?? '',
  displayName: text(object, 'displayName'),
  description: text(object, 'description'),
  xDescriptors: strings(object, 'x-descriptors'),
});
const apiService = (object) => ({
  ...api(object),
  name: text(object, 'name') ?? '',
  displayName: text(object, 'displayName'),
  description: text(object, 'description'),
  deploymentName: text(object, 'deploymentName'),
});
const account = (object) => ({
  serviceAccountName: text(object, 'serviceAccountName') ?? '',
  rules: objects(object, 'rules').map((rule) => ({
    apiGroups: strings(rule, 'apiGroups'),
    resources: strings(rule, 'resources'),
    resourceNames: strings(rule, 'resourceNames'),
    verbs: strings(rule, 'verbs'),
    nonResourceUrls: strings(rule, 'nonResourceURLs'),
  })),
});
const webhookTypes = { ValidatingAdmissionWebhook: 'VALIDATING', MutatingAdmissionWebhook: 'MUTATING', ConversionWebhook: 'CONVERSION' };
const webhook = (object) => ({
  name: text(object, 'generateName') ?? '',
  type: webhookTypes[text(object, 'type')],
  deploymentName: text(object, 'deploymentName'),
  path: text(object, 'webhookPath'),
  failurePolicy: text(object, 'failurePolicy'),
  rules: objects(object, 'rules').map((rule) => ({
    apiGroups: strings(rule, 'apiGroups'),
    apiVersions: strings(rule, 'apiVersions'),
    resources: strings(rule, 'resources'),
    operations: strings(rule, 'operations'),
  })),
  conversionCrds: strings(object, 'conversionCRDs'),
});
const api = (object) => ({ group: text(object, 'group') ?? '', version: text(object, 'version') ?? '', kind: text(object, 'kind') ?? '' });

/** The items of a JSON list of texts in an annotation; another text is one item. */
function texts(value) {
  if (value === undefined) return [];
  try {
    const list = JSON.parse(value);
    if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return list;
  } catch {
    // No JSON.
  }
  return [value];
}

/** The names behind a prefix in labels that say `supported`. */
function supported(labels, prefix, assumed) {
  const own = pairs(labels).filter(({ key }) => key.startsWith(prefix));
  return own.length === 0 ? [assumed] : own.filter(({ value }) => value === 'supported').map(({ key }) => key.slice(prefix.length));
}

/** A text in one line of at most 300 characters. */
function shortened(value) {
  if (value === undefined) return undefined;
  const line = value.split(/\s+/u).filter((word) => word !== '').join(' ');
  const letters = [...line];
  if (letters.length < 300) return line;
  // The last place is for the ellipsis, and a word is not cut.
  const cut = letters.slice(0, 300).join('').replace(/ [^ ]*$/u, '');
  return `${cut}…`;
}

/** The metadata of an `olm.csv.metadata`, or of a manifest that says the same, without what takes a table to read. */
export function metadataOf(value, manifest) {
  const annotations = member(value, 'annotations');
  const annotation = (name) => trimmed(text(annotations, name));
  const provider = link(member(value, 'provider'));
  const crds = member(value, 'crdDescriptions');
  const internal = texts(annotation('operators.operatorframework.io/internal-objects'));
  const install = manifest && member(member(member(manifest, 'spec'), 'install'), 'spec');
  return {
    displayName: text(value, 'displayName'),
    description: text(value, 'description'),
    provider:
      provider.name === undefined && provider.url === undefined
        ? undefined
        : { ...provider, shortName: provider.name && shortName(provider.name) },
    maintainers: objects(value, 'maintainers').map((item) => ({ name: text(item, 'name'), email: text(item, 'email') })),
    links: objects(value, 'links').map(link),
    keywords: items(value, 'keywords').filter((item) => typeof item === 'string'),
    categories: [...new Set((annotation('categories') ?? '').split(',').map((item) => item.trim()).filter((item) => item !== ''))],
    maturity: text(value, 'maturity'),
    summary: shortened(annotation('description')),
    minKubeVersion: text(value, 'minKubeVersion'),
    maxKubeVersion: annotation('operatorhub.io/ui-metadata-max-k8s-version'),
    architectures: supported(member(value, 'labels'), 'operatorframework.io/arch.', 'amd64'),
    operatingSystems: supported(member(value, 'labels'), 'operatorframework.io/os.', 'linux'),
    certifiedLevel: annotation('certifiedLevel'),
    validSubscriptions: texts(annotation('operators.openshift.io/valid-subscription')),
    clusterMonitoring: { true: true, false: false }[annotation('operatorframework.io/cluster-monitoring')?.toLowerCase()],
    consolePlugins: texts(annotation('console.openshift.io/plugins')),
    internalObjects: internal,
    isStandalone: annotation('operators.operatorframework.io/operator-type') !== 'non-standalone',
    actionText: annotation('marketplace.openshift.io/action-text'),
    remoteWorkflow: annotation('marketplace.openshift.io/remote-workflow'),
    supportWorkflow: annotation('marketplace.openshift.io/support-workflow'),
    uninstallMessage: annotation('operator.openshift.io/uninstall-message'),
    containerImage: annotation('containerImage'),
    repository: annotation('repository'),
    support: annotation('support'),
    ownedCrds: objects(crds, 'owned').map(crd(internal)),
    requiredCrds: objects(crds, 'required').map(crd(internal)),
    ownedApiServices: objects(member(value, 'apiServiceDefinitions'), 'owned').map(apiService),
    requiredApiServices: objects(member(value, 'apiServiceDefinitions'), 'required').map(apiService),
    permissions: install && objects(install, 'permissions').map(account),
    clusterPermissions: install && objects(install, 'clusterPermissions').map(account),
    webhooks: install && objects(value, 'webhookdefinitions').map(webhook),
    nativeApis: objects(value, 'nativeAPIs').map(api),
    label: ({ key }) => pairs(member(value, 'labels')).find((pair) => pair.key === key)?.value,
    labels: pairs(member(value, 'labels')),
    annotation: ({ key }) => pairs(annotations).find((pair) => pair.key === key)?.value,
    annotations: ({ keys }) => pairs(annotations).filter(({ key }) => !keys?.length || keys.includes(key)),
  };
}

/** The value of an `olm.csv.metadata` that says what a ClusterServiceVersion says. */
export function valueOfManifest(manifest) {
  if (text(manifest, 'kind') !== 'ClusterServiceVersion') return undefined;
  const [metadata, spec] = [member(manifest, 'metadata'), member(manifest, 'spec')];
  return new Map([
    ...spec,
    ['annotations', member(metadata, 'annotations')],
    ['labels', member(metadata, 'labels')],
    ['crdDescriptions', member(spec, 'customresourcedefinitions')],
    ['apiServiceDefinitions', member(spec, 'apiservicedefinitions')],
  ]);
}

/** The numbers and letters of a day, or undefined when it is none. */
const day = (value) => {
  const is = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(`${value}T00:00:00Z`));
  return is && new Date(`${value}T00:00:00Z`).toISOString().startsWith(value) ? value : undefined;
};

/** The life cycles of the versions of a package that a blob has; `fail` is called for a day that is none. */
export function lifecyclesOf(blob, fail) {
  return objects(blob, 'versions').map((version) => {
    const phases = objects(version, 'phases').map((phase) => ({
      name: text(phase, 'name') ?? '',
      startDate: day(text(phase, 'startDate')),
      endDate: day(text(phase, 'endDate')),
    }));
    const isIn = (on) => ({ startDate, endDate }) =>
      (startDate !== undefined || endDate !== undefined) && (startDate ?? on) <= on && on <= (endDate ?? on);
    return {
      version: text(version, 'name') ?? '',
      phases,
      phase: ({ on }) => phases.find(isIn(day(on) ?? fail(`${on} is no day`))),
      supportEndDate: phases.map(({ endDate }) => endDate).filter((end) => end !== undefined).sort().at(-1),
      platforms: objects(version, 'platformCompatibility').map((platform) => ({
        name: text(platform, 'name') ?? '',
        versions: strings(platform, 'versions'),
      })),
    };
  });
}
