; What a file defines, and the scopes of names.

(function_item name: (identifier) @_name parameters: (_) @_parameters body: (_) @_body) @function
(function_item return_type: (_) @_type) @function
(function_item body: (block (_expression) @_value .)) @function
(function_signature_item name: (identifier) @_name parameters: (_) @_parameters) @function
(function_signature_item return_type: (_) @_type) @function

(closure_expression body: (_) @_value) @closure

((struct_item name: (type_identifier) @_name) @class (#set! symbol struct))
((union_item name: (type_identifier) @_name) @class (#set! symbol union))
((enum_item name: (type_identifier) @_name) @class (#set! symbol enum))
((trait_item name: (type_identifier) @_name) @class (#set! symbol trait))
(type_item name: (type_identifier) @_name type: (_) @_type) @alias
((trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier)] @_base)) @class (#set! symbol trait))
(struct_item body: (field_declaration_list (field_declaration name: (field_identifier) @_name type: (_) @_type) @field))

(impl_item type: [
  (type_identifier) @_base
  (generic_type type: (type_identifier) @_base)
  (reference_type type: (type_identifier) @_base)
]) @extension
(impl_item trait: [
  (type_identifier) @_value
  (scoped_type_identifier) @_value
  (generic_type type: (type_identifier) @_value)
]) @extension
(impl_item) @extension

(mod_item name: (identifier) @_name body: (declaration_list)) @namespace

[
  (block)
  (match_arm)
  (if_expression)
  (while_expression)
  (for_expression)
] @scope

(return_expression (_) @_value) @return
