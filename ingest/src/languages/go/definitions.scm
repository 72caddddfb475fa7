; What a file defines, and the scopes of names.

(function_declaration name: (identifier) @_name parameters: (_) @_parameters) @function
(function_declaration result: (_) @_type) @function

((method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @_base
    (generic_type type: (type_identifier) @_base)
    (pointer_type (type_identifier) @_base)
    (pointer_type (generic_type type: (type_identifier) @_base))
  ]))
  name: (field_identifier) @_name
  parameters: (_) @_parameters) @function (#set! receiver beside))
(method_declaration result: (_) @_type) @function
(method_declaration receiver: (parameter_list (parameter_declaration name: (identifier) @_name) @receiver))

(func_literal body: (_)) @closure

((type_spec name: (type_identifier) @_name type: (struct_type)) @class (#set! symbol struct))
(type_spec type: (struct_type (field_declaration_list (field_declaration !name type: [
  (type_identifier) @_base
  (qualified_type) @_base
  (generic_type type: (_) @_base)
])))) @class
((type_spec name: (type_identifier) @_name type: (interface_type)) @class (#set! symbol interface))
((type_spec name: (type_identifier) @_name type: [
  (array_type) (channel_type) (function_type) (generic_type) (map_type) (parenthesized_type) (pointer_type)
  (qualified_type) (slice_type) (type_identifier)
]) @class (#set! symbol type))
(type_alias name: (type_identifier) @_name type: (_) @_type) @alias

(interface_type (method_elem name: (field_identifier) @_name parameters: (_) @_parameters) @function)
(interface_type (method_elem result: (_) @_type) @function)

(field_declaration name: (field_identifier) @_name type: (_) @_type) @field
(field_declaration !name type: (type_identifier) @_name @_type) @field
(field_declaration !name type: (qualified_type name: (type_identifier) @_name) @_type) @field

[
  (block)
  (if_statement)
  (for_statement)
  (expression_switch_statement)
  (type_switch_statement)
  (select_statement)
  (expression_case)
  (type_case)
  (default_case)
  (communication_case)
] @scope

(return_statement (expression_list . (_) @_value)) @return
