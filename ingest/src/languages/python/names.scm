; How names come by their values.

(assignment left: (_) @_pattern right: (_) @_value) @assign
(assignment left: (_) @_pattern type: (_) @_type) @assign
(named_expression name: (identifier) @_pattern value: (_) @_value) @assign
(with_item value: (as_pattern . (_) @_value alias: (as_pattern_target (_) @_pattern)) @assign)
(except_clause value: (as_pattern alias: (as_pattern_target (_) @_pattern)) @assign)
(augmented_assignment left: (identifier) @_pattern) @assign
(delete_statement (identifier) @_pattern) @assign

(for_statement left: (_) @_pattern right: (_) @_value) @each
(for_in_clause left: (_) @_pattern right: (_) @_value) @each

(case_pattern (dotted_name . (identifier) @_pattern .)) @assign
(case_pattern (as_pattern (identifier) @_pattern)) @assign
(splat_pattern (identifier) @_pattern) @assign

[(pattern_list) (tuple_pattern) (list_pattern)] @elements

(parameters (identifier) @parameter)
(lambda_parameters (identifier) @parameter)
(default_parameter name: (_) @_pattern value: (_) @_value) @parameter
(typed_parameter . (identifier) @_pattern type: (_) @_type) @parameter
(typed_default_parameter name: (_) @_pattern type: (_) @_type value: (_) @_value) @parameter
((parameters (list_splat_pattern (identifier) @_pattern) @parameter) (#set! rest))
((parameters (dictionary_splat_pattern (identifier) @_pattern) @parameter) (#set! rest))
((lambda_parameters (list_splat_pattern (identifier) @_pattern) @parameter) (#set! rest))
((lambda_parameters (dictionary_splat_pattern (identifier) @_pattern) @parameter) (#set! rest))
((typed_parameter [(list_splat_pattern (identifier) @_pattern) (dictionary_splat_pattern (identifier) @_pattern)]) @parameter (#set! rest))

(global_statement (identifier) @outer)
(nonlocal_statement (identifier) @outer)

[(import_statement) (import_from_statement) (future_import_statement)] @import
