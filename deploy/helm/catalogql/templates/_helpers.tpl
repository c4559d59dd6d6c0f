{{- /* Bindings of a role to the controller: {name, namespace, context}. */}}
{{- define "catalogql.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: catalogql
  namespace: {{ .context.Release.Namespace }}
{{- end }}

{{- define "catalogql.clusterBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: catalogql
  namespace: {{ .context.Release.Namespace }}
{{- end }}

{{- /* Lets the controller read who signs client certificates: {name, context}. */}}
{{- define "catalogql.authenticationReader" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: kube-system
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: extension-apiserver-authentication-reader
subjects:
- kind: ServiceAccount
  name: catalogql
  namespace: {{ .context.Release.Namespace }}
{{- end }}

{{- define "catalogql.image" -}}
{{ .Values.image.repository }}
{{- if or .Values.image.tag (not .Values.image.digest) }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "catalogql.checkAnonymous" -}}
{{- if not (or .Values.anonymous (eq .Values.auth.mode "delegated")) }}
{{- fail "this shows every catalog to everybody who reaches it; set anonymous=true if that is what you want, or auth.mode=delegated" }}
{{- end }}
{{- end }}
