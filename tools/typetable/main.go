// Prints the type table of the built-in Kubernetes kinds as JSON: for every struct its fields with JSON name, Go type,
// protobuf number, omitempty and patch tags. All of it is read by reflection from the public Go modules, so a new
// Kubernetes version is a change of go.mod and one run of `make tables`.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type field struct {
	Name     string `json:"n,omitempty"` // JSON name; empty for an inlined struct
	Go       string `json:"g,omitempty"` // Go field name, where it is not the JSON name capitalised
	Type     string `json:"t"`
	Number   int    `json:"p,omitempty"`
	Wire     string `json:"w,omitempty"` // wire kind, where it is not implied by the type
	Omit     string `json:"o,omitempty"` // "e" omitempty, "z" omitzero, "ez" both
	Merge    string `json:"k,omitempty"` // strategic merge key
	Strategy string `json:"s,omitempty"` // strategic merge strategy
}

var table = map[string][]field{}

func name(t reflect.Type) string {
	path := t.PkgPath()
	for from, to := range map[string]string{
		"k8s.io/api/":                    "io.k8s.api.",
		"k8s.io/apimachinery/":           "io.k8s.apimachinery.",
		"k8s.io/apiextensions-apiserver/": "io.k8s.apiextensions-apiserver.",
		"k8s.io/kube-aggregator/":        "io.k8s.kube-aggregator.",
	} {
		if rest, ok := strings.CutPrefix(path, from); ok {
			return to + strings.ReplaceAll(rest, "/", ".") + "." + t.Name()
		}
	}
	return strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}

var special = map[string]string{
	"v1.Time": "Time", "v1.MicroTime": "MicroTime", "v1.Duration": "Duration", "resource.Quantity": "Quantity",
	"intstr.IntOrString": "IntOrString", "runtime.RawExtension": "Raw", "v1.FieldsV1": "Fields",
	"runtime.Object": "Raw",
}

// typeExpr renders a type: "*T" pointer, "[T" list, "{T" map, "s" "b" "i32" "i64" "f64" "bytes" scalars (with
// ":go.Name" for named ones), the specials above, or the name of a struct.
func typeExpr(t reflect.Type) string {
	if s, ok := special[t.String()]; ok {
		return s
	}
	named := ""
	if t.PkgPath() != "" {
		named = ":" + t.String()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeExpr(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[" + typeExpr(t.Elem())
	case reflect.Map:
		return "{" + typeExpr(t.Elem())
	case reflect.String:
		return "s" + named
	case reflect.Bool:
		return "b" + named
	case reflect.Int32:
		return "i32" + named
	case reflect.Int64, reflect.Int:
		return "i64" + named
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "u" + strconv.Itoa(t.Bits()) + named
	case reflect.Float64:
		return "f64" + named
	case reflect.Struct:
		visit(t)
		return name(t)
	}
	panic(fmt.Sprint("no rule for ", t))
}

func visit(t reflect.Type) {
	key := name(t)
	if _, seen := table[key]; seen {
		return
	}
	table[key] = nil
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("json")
		proto := strings.Split(f.Tag.Get("protobuf"), ",")
		if !f.IsExported() || (!ok && f.Tag.Get("protobuf") == "") || tag == "-" {
			continue
		}
		parts := strings.Split(tag, ",")
		out := field{Name: parts[0], Type: typeExpr(f.Type), Merge: f.Tag.Get("patchMergeKey"), Strategy: f.Tag.Get("patchStrategy")}
		for _, option := range parts[1:] {
			switch option {
			case "omitempty":
				out.Omit += "e"
			case "omitzero":
				out.Omit += "z"
			}
		}
		if out.Name != "" && out.Name != strings.ToLower(f.Name[:1])+f.Name[1:] {
			out.Go = f.Name
		}
		if out.Name == "" {
			out.Go = f.Name
		}
		if len(proto) > 1 {
			out.Wire = map[string]string{"bytes": "", "varint": ""}[proto[0]]
			if proto[0] != "bytes" && proto[0] != "varint" {
				out.Wire = proto[0]
			}
			out.Number, _ = strconv.Atoi(proto[1])
		}
		fields = append(fields, out)
	}
	table[key] = fields
}

func main() {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme} {
		if err := add(all); err != nil {
			panic(err)
		}
	}
	kinds := map[string]string{}
	for gvk, t := range all.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || strings.Contains(gvk.Version, "alpha") && gvk.Group != "resource.k8s.io" {
			continue
		}
		if gvk.Kind == "WatchEvent" || strings.HasSuffix(gvk.Kind, "Options") && t.PkgPath() == reflect.TypeOf(metav1.ListOptions{}).PkgPath() && gvk.Group != "" {
			continue
		}
		key := gvk.Group + "/" + gvk.Version + "/" + gvk.Kind
		kinds[strings.TrimPrefix(key, "/")] = typeExpr(t)
	}
	for _, t := range []any{metav1.Status{}, metav1.PartialObjectMetadata{}, metav1.PartialObjectMetadataList{}, metav1.DeleteOptions{}, metav1.LabelSelector{}} {
		typeExpr(reflect.TypeOf(t))
	}
	keys := make([]string, 0, len(table))
	for k := range table {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	if err := out.Encode(map[string]any{"types": table, "kinds": kinds}); err != nil {
		panic(err)
	}
}
