"""What the checks say of wrong answers that learners gave: the lead, in words."""

from weft.checking.verdict import Verdict
from weft.device import toolkit

# Lab, exercise and answer -> parts of the verdict, of its sentences or of the notes on
# its lines. `test_kernels` judges these answers, and looks for the parts.
SAID = {
    "24_attention/overlapped/wrong_waits_for_both": [
        "No wait leaves a product running"
    ],
    "24_attention/tile_scores/wrong_loops_exchanged": [
        "store to columns 0–7 of rows 0–31 of `tk`",
        "for m in range(TILE16):: sets `m`",
    ],
    "24_attention/tile_scores/wrong_always_causal": ["even where `causal` is 0"],
    "24_attention/flash_mma/wrong_rows_in_words": ["a number of row g and one of row"],
    "24_attention/flash_mma/wrong_sums_of_two_lanes": [
        "differs in bit 0, for the sums of weights"
    ],
    "24_attention/flash_rows/wrong_returns_in_the_loop": [
        "Only 5 of the block's 32 threads come to the barrier on line 24",
        "cuda.syncthreads(): 27 threads ended before this",
    ],
    "24_attention/flash_rows/wrong_scores_go_on": ["go on from key to key"],
    "24_attention/overlapped/wrong_last_tile_is_count": [
        "last_tile(o, p, memory, count): called here"
    ],
    "24_attention/overlapped/wrong_no_hold": [
        "no `hold` of `s` comes between the wait on line 19 and this read"
    ],
    "24_attention/overlapped/wrong_rows_of_factors": [
        "if numbers 1 and 2 of each piece of `o` get each other's factor"
    ],
    "24_attention/overlapped/wrong_k_of_1": ["if `soften_row` gets k = 1 for row g"],
    "05_first_kernel/vector_add/wrong_guard_off_by_one": [
        "if i <= out.size:: lets it through"
    ],
    "10_debugging/swap_pairs/wrong_else": ["if i + 1 < x.size:: is false here"],
    "23_convolution_fft/convolve_same/wrong_no_lower_bound": [
        "if i < x.shape[0] and j < x.shape[1]:: lets it through"
    ],
    "23_convolution_fft/convolve_same/wrong_both_by_the_height": [
        "No column of x from 9 on is read (9 is x.shape[0]).",
        "if 0 <= i < x.shape[0] and 0 <= j < x.shape[0]:: `j` ends at 8",
    ],
    "23_convolution_fft/correlate/wrong_flipped": [
        "This is a convolution: row and column of x fall as p and q grow, or w is "
        "reversed."
    ],
    "23_convolution_fft/correlate/wrong_p_and_q_exchanged": [
        "`col` is 38",
        "if row < out.shape[0] and col < out.shape[1]:: `out[0, 38]` is in bounds",
        "for p in range(w.shape[0]):: `p` is 2",
    ],
    "23_convolution_fft/correlate_tiled/wrong_half_of_the_halo": [
        "columns 0–33 of rows 0–9. They read columns 0–35 of rows 0–11.",
        "for i in range(ty, HIGH + K // 2, HIGH):: sets `i`",
    ],
    "23_convolution_fft/correlate_tiled/wrong_index_of_the_image": [
        "row, col = top + ty, left + tx: `row` is 8",
        "Each block has its own `tile`",
    ],
    "23_convolution_fft/dft/wrong_cosines": [
        "result[1] is 2+0j",
        "only the real part of each power of `w` counts",
    ],
    "23_convolution_fft/dft/wrong_factor_k": ["result[k] is k · result[1]"],
    "23_convolution_fft/dft/wrong_term_of_k": ["every term of sum k takes x[k]"],
    "23_convolution_fft/fft_shared/wrong_eleven_passes": [
        "while s <= POINTS:: `s` is 1024, lets it through"
    ],
    "23_convolution_fft/fft_shared/wrong_quotient": ["k = t // s: `k` is 2"],
    "23_convolution_fft/fft_shared/wrong_reads_neighbours": [
        "butterfly t reads elements 2 t and 2 t + 1"
    ],
    "23_convolution_fft/fft_shared/wrong_sizes_halved": [
        "s begins at 512 and is halved"
    ],
    "23_convolution_fft/convolve_same/wrong_ends_outside": [
        "the loop over q ends at the first column outside x"
    ],
    "23_convolution_fft/convolve_same/wrong_zero_left_out": [
        "row 0 and column 0 of x are left out"
    ],
    "23_convolution_fft/grad_data/wrong_flipped_twice": [
        "This is a correlation: row and column of dy grow as p and q grow, or w is "
        "reversed once more."
    ],
    "23_convolution_fft/grad_data/wrong_rows_end_outside": [
        "the loop over p ends at the first row outside dy"
    ],
    "23_convolution_fft/fft_shared/wrong_factor_after": [
        "the factor multiplies the difference, after the butterfly"
    ],
    "31_autograd/backward/wrong_counts_paths": ["3 edges lead to c, but 4 paths"],
    "31_autograd/backward/wrong_counts_users": [
        "2 of the 3 edges to c had been followed",
        "Two edges lead from c * c to c, and both count.",
    ],
    "31_autograd/sum_to/wrong_one_column": [
        "only the first column of g is summed where `rows` and `cols` are both 1",
        "size 4 × 5, rows = 1, cols = 1",
    ],
    "31_autograd/softmax_loss/wrong_log_of_p": ["and p[target] has rounded to 0"],
    "31_autograd/softmax_loss/wrong_subtracts_top": ["the loss subtracts the maximum"],
    "31_autograd/softmax_loss/wrong_sums_32_classes": ["only the first 32 classes"],
    "31_autograd/softmax_loss/wrong_subtracts_last": ["after the division by n"],
    "31_autograd/tanh/wrong_difference_squared": [
        "vjp(g)[0, 0] is",
        "g (1 - y)², the square of the difference",
        "`tanh(x).data` is right",
        "stored here, in `tanh_vjp_kernel`",
    ],
    "31_autograd/tanh/wrong_input_for_y": [
        "g (1 - x²), with `x.data` as it is now",
        "launched here",
    ],
    "31_autograd/tanh/wrong_row_and_column": [
        "nor does any other element of column 16",
        "stores other elements, in `tanh_kernel`",
    ],
    "31_autograd/tanh/wrong_pair_alone": ["are a list of pairs: `[(x, vjp)]`"],
    "31_autograd/tanh/wrong_edge_to_numbers": ["`x.data`, and not to `x`"],
    "31_autograd/tanh/wrong_in_place": ["changes `x.data`"],
    "31_autograd/saved/wrong_at_once": ["Return a function that will return the data"],
    "31_autograd/saved/wrong_torch_version": ["`tensor.memory.version` was 0"],
    "33_training_speed/train/wrong_others_mirrored": ["the other images are mirrored"],
    "12_global_memory/copy_pieces/wrong_width_of_64": ["blocks of 96 threads"],
    "12_global_memory/polynomial/wrong_stops_at_one": ["the last step is missing"],
    "12_global_memory/polynomial/wrong_from_the_front": ["in the other order"],
    "12_global_memory/polynomial/wrong_first_twice": ["second time with x⁸"],
    "12_global_memory/polynomial/wrong_added_before": ["before the product with `x`"],
    "12_global_memory/polynomial/wrong_index_one_off": ["`c[k + 1]` for `c[k]`"],
    "16_softmax/softmax_warp/wrong_maximum_of_some_lanes": [
        "Lane 0 is at line 20 while lanes 1–31 are at line 24",
        "What leads lanes 1–31 past line 20?",
    ],
    "20_layouts/crd2idx/wrong_undivided": ["the number itself, not the quotient"],
    "20_layouts/crd2idx/wrong_last_is_fastest": ["if the last mode were the fastest"],
    "20_layouts/crd2idx/wrong_every_remainder": [
        "number 40 is coordinate (0,10)",
        "if it takes a remainder, too",
    ],
    "20_layouts/coalesce/wrong_size_alone": ["where the second stride is the first"],
    "20_layouts/coalesce/wrong_row_major": ["That is the way of PyTorch"],
    "20_layouts/coalesce/wrong_drops_stride_0": ["modes of stride 0 are dropped"],
    "20_layouts/coalesce/wrong_only_flattens": [
        "Modes 4:1 and 8:4 can become one: the second stride, 4, is 4 · 1."
    ],
    "20_layouts/coalesce/wrong_ones_dropped_last": ["mode 1:77 is between them"],
    "20_layouts/composition/wrong_last_mode_is_cut": [
        "A's last mode, 4:2, takes all elements that are left, here 8",
        "if it takes only 4",
    ],
    "20_layouts/composition/wrong_last_mode_is_skipped": [
        "A's last mode, 8:1, takes all elements that are left, here 3",
        "if the mode is skipped",
    ],
    "20_layouts/composition/wrong_step_not_in_the_stride": [
        "if the elements in it are 8 apart"
    ],
    "20_layouts/composition/wrong_own_stride_lost": [
        "if the elements in it are 2 apart"
    ],
    "20_layouts/composition/wrong_takes_what_fits": [
        "mode 6:8 of A has 6 elements, but only 3 are still to be picked"
    ],
    "20_layouts/complement/wrong_multiplies": ["if the gaps are forgotten"],
    "20_layouts/complement/wrong_no_rest": ["from there up to the target, 24"],
    "20_layouts/complement/wrong_sorts_by_size": ["mode 4:8 comes before mode 8:1"],
    "20_layouts/complement/wrong_stride_zero": ["(3:0, 12) raises", "`reached` is 0."],
    "20_layouts/local_partition/wrong_blocked": [
        "54 is element (4,6), where a piece of 4 × 3 starts."
    ],
    "20_layouts/local_partition/wrong_column_first": ["25 is element (2,1)"],
    "20_layouts/local_partition/wrong_rows_for_both": [
        "Of 12 columns, it owns every 4th, 3 in all; this layout has 6."
    ],
    "20_layouts/local_partition/wrong_single_stride": [
        "the index grows by 32, not by 8 · 1"
    ],
    "20_layouts/thread_values/wrong_addresses": ["row-major tile, row · 8 + col"],
    "20_layouts/swizzle/wrong_mask_without_minus_1": ["if the mask is 1000"],
    "20_layouts/swizzle/wrong_one_bit": ["if the mask is 100. In Python, `-` comes"],
    "20_layouts/swizzle/wrong_no_mask": ["all bits from bit 4 on are taken, 1101"],
    "20_layouts/swizzle/wrong_not_moved_up": ["are XORed from bit 0 on, not from"],
    "20_layouts/swizzle/wrong_shifts_up": ["if bits 1 to 3 are moved up"],
    "21_tensor_cores/gemm_pipelined/wrong_wraps_too_early": [
        "The barrier on line 27 is before both lines, 28 and 30."
    ],
    "21_tensor_cores/gemm_pipelined/wrong_write_stays": ["before both lines"],
    "21_tensor_cores/gemm_pipelined/wrong_barrier_before_wait": [
        "Those of the others have arrived once each thread has waited"
    ],
    "21_tensor_cores/gemm_pipelined/wrong_warps_store_alike": [
        "put(c, sums, row0, col0, lane): called here"
    ],
    "21_tensor_cores/gemm_warp/wrong_t_for_g": ["its column from t and its word"],
    "21_tensor_cores/weight_gradient/wrong_own_addresses": [
        "the address to which it has stored"
    ],
    "21_tensor_cores/weight_gradient/wrong_left_stored_twice": [
        "left): called here; the mistake is here",
        "Which array does it use, and which should it?",
    ],
    "21_tensor_cores/weight_gradient/wrong_left_multiplied_twice": [
        "mma_f16(left, fa, fb[2:]): the mistake is here"
    ],
    "21_tensor_cores/fragments/wrong_first_eight_rows": [
        "`x[8, 0]` is stored in `tile[8, 0]`, and no thread reads it there."
    ],
    "21_tensor_cores/gemm_tiled/wrong_rows_of_the_step": [
        "`b[16, 0]` is stored in `tb[16, 0]`, and no thread reads it there."
    ],
    "21_tensor_cores/gemm_tiled/wrong_row_of_the_block": [
        "`a[16, 0]` is never read",
        "p, q, s, u = four(a, r, start + 4 * piece): reads a",
    ],
    "21_tensor_cores/gemm_tiled/wrong_b_stored_plainly": [
        "`b` is stored with the swizzle and read without it, or the other way",
        "fb[j, 0], fb[j, 1] = f[0], f[1]: `fb` is set here",
    ],
    "21_tensor_cores/gemm_tiled/wrong_matrices_of_a": [
        "matrices 1 and 2 of `a` are exchanged",
        "`fa` is set here",
    ],
    "24_attention/flash_rows/wrong_rescaled_for_each_key": [
        "`total` is rescaled for each key, not once per tile"
    ],
    "24_attention/flash_rows/wrong_factor_is_one": ["or the factor is always 1"],
    "24_attention/tile_scores/wrong_words_in_turn": [
        "gets words 0 and 2 of the four, counted from 0",
        "words 1 and 3",
    ],
    "24_attention/tile_scores/wrong_scaled_each_time": [
        "after each of the `HEAD16` products"
    ],
    "24_attention/soften_tiles/wrong_weights_added_first": [
        "before the weight so far is rescaled"
    ],
    "24_attention/soften_tiles/wrong_lanes_summed_twice": [
        "four times what it should be"
    ],
    "24_attention/soften_tiles/wrong_bits_for_masks": ["(and itself, if k is 0)"],
    "24_attention/soften_tiles/wrong_summed_in_each_tile": [
        "over the four lanes after each tile"
    ],
    "24_attention/soften_tiles/wrong_numbers_of_maximum": [
        "is that of numbers 0 and 2 of each piece"
    ],
    "24_attention/soften_tiles/wrong_shuffles_for_row_g": ["in row g + 8"],
    "24_attention/soften_tiles/wrong_rows_of_factors": ["get each other's factor"],
    "24_attention/soften_tiles/wrong_maximum_too_late": ["before their tile"],
    "24_attention/flash_mma/wrong_lanes_summed_twice": [
        "summed over the four lanes twice"
    ],
    "24_attention/merge_parts/wrong_weights_not_rescaled": [
        "the sum of weights is not rescaled"
    ],
    "24_attention/merge_parts/wrong_guard_against_nan": ["Zero times infinity is NaN"],
    "24_attention/merge_parts/wrong_largest_as_lse": ["largest log-sum-exp alone"],
    "24_attention/merge_parts/wrong_top_from_zero": ["Every e^x has become 0"],
    "24_attention/merge_parts/wrong_divided_by_n": ["by the number of parts"],
    "24_attention/grad_q/wrong_stored_unscaled": ["stored without `SCALE`"],
    "24_attention/grad_q/wrong_scale_forgotten": ["scores are not multiplied"],
    "24_attention/grad_q/wrong_delta_of_key": ["that of the key, not that of the"],
    "24_attention/grad_q/wrong_divides": ["score is divided by `lse`"],
    "24_attention/grad_q/wrong_products_go_on": ["without a new start"],
    "24_attention/grad_q/wrong_scaled_for_each_key": ["by `SCALE` for each key"],
    "24_attention/grad_q/wrong_value_of_query": ["`v` is that of the query"],
    "24_attention/grad_q/wrong_key_of_query": ["the query's row of `k`"],
    "25_cublas/sgemm/wrong_m_and_n_swapped": ["With other `m` and `n`"],
    "25_cublas/sgemm/wrong_alpha_is_one": ["The library read alpha as 1"],
    "25_cublas/sgemm/wrong_alpha_twice": ["The library read beta as 2"],
    "25_cublas/sgemm/wrong_scalar_not_by_reference": [
        "alpha is declared as c_void_p, and gets a c_float",
    ],
    "25_cublas/sgemm/wrong_status_ignored": ["library.cublasSgemm_v2("],
    "25_cublas/scores/wrong_keys_not_transposed": ["With another `transa`"],
    "25_cublas/scores/wrong_operands_not_exchanged": ["With other `a` and `b`"],
    "25_cublas/scores/wrong_alpha_is_gone": ["a c_float that no longer exists"],
    "25_cublas/linear/wrong_types_of_inputs": [
        "w holds bfloat16, and in this call A has the type float32"
    ],
    "25_cublas/linear_gelu/wrong_describes_too_late": [
        "This call comes before lines 12, 13 and 14",
        "TRANSA is N, and TRANSB is N.",
    ],
    "25_cublas/linear_gelu/wrong_no_epilogue": ["nothing is done after the product"],
    "25_cublas/linear_gelu/wrong_compute_type_twice": [
        "the scale type 68",
        "`ComputeType.COMPUTE_32F` has this number",
    ],
    "25_cublas/fastest/wrong_sum_with_the_first": ["The first run of each loads"],
    "25_cublas/fastest/wrong_hundred_runs": ["has been run 20 times, and again"],
    "25_cublas/fastest/wrong_slowest": ["Algorithm 0 is the slowest of all."],
    "25_cublas/fastest/wrong_place_in_a_list": ["a place in your list"],
    "25_cublas/fastest/wrong_never_the_first": ["Algorithm 0 was run once"],
    "16_softmax/merge_pairs/wrong_maximum_overwritten": [
        "This is the result if `s` is not rescaled",
        "In row 4, m = 79.59",
        "return m, s: the value comes from here",
    ],
    "16_softmax/merge_pairs/wrong_exchanged": ["maximum and sum are exchanged"],
    "16_softmax/softmax_passes/wrong_result_thrown_away": [
        "the threads' maxima are not combined",
        "block_max(m): the result of `block_max` is thrown away",
    ],
    "16_softmax/softmax_passes/wrong_sum_replaced": ["sum is only its last power"],
    "16_softmax/softmax_warp/wrong_part_of_the_maximum": [
        "Does the maximum see all scores"
    ],
    "16_softmax/softmax_warp/wrong_scores_are_divided": ["and not their powers"],
    "16_softmax/softmax_warp/wrong_largest_sum": ["the largest of the lanes' sums"],
    "16_softmax/softmax_warp/wrong_lanes_sum": ["lanes' sums are not combined"],
    "16_softmax/softmax_warp/wrong_lanes_maximum": ["lanes' maxima are not combined"],
    "16_softmax/softmax_warp/wrong_filler_is_zero": ["beyond the end counts as 0"],
    "16_softmax/softmax_block/wrong_lane_0_merges": ["only lane 0 of each warp has"],
    "16_softmax/softmax_block/wrong_sums_as_they_are": ["without being rescaled"],
    "16_softmax/softmax_backward/wrong_sum_replaced": ["only its last product"],
    "16_softmax/softmax_backward/wrong_filler_is_minus_infinity": [
        "counts as minus infinity"
    ],
    "16_softmax/softmax_backward/wrong_sum_combined_in_the_loop": [
        "summed again in each turn"
    ],
    "22_hopper_gemm/reverse_tiles/wrong_numbers_not_bytes": [
        "elements from `tile[0]` on"
    ],
    "22_hopper_gemm/dot_columns/wrong_empty_counts_one": [
        "How many threads arrive at each mbarrier",
        "and 64 threads arrive there, on line 40",
    ],
    "22_hopper_gemm/dot_columns/wrong_producer_parity": [
        "Which of these waits should?"
    ],
    "22_hopper_gemm/dot_columns/wrong_stays_at_stage_0": ["all products are of row 0"],
    "22_hopper_gemm/gemm_ring/wrong_every_thread_arrives": [
        "one after every 2 arrivals, and 256 threads arrive there, on line 51"
    ],
    "22_hopper_gemm/gemm_ring/wrong_ring_begins_anew": [
        "sets `parity` in each turn of the loop on line 36"
    ],
    "22_hopper_gemm/gemm_ring/wrong_row_and_column": [
        "the two coordinates of each box are exchanged"
    ],
    "22_hopper_gemm/gemm_ring/wrong_16_bytes_along_k": ["begins 8 numbers along k"],
    "22_hopper_gemm/ring/wrong_exchanged": ["the right two parities, exchanged"],
    "22_hopper_gemm/ring/wrong_parity_of_k": ["Tile 1 is in turn 0 of the ring"],
    "22_hopper_gemm/tile_at/wrong_exchanged": ["Row and column are exchanged."],
    "22_hopper_gemm/tile_at/wrong_row_major_groups": ["if a group went row by row"],
    "22_hopper_gemm/tile_at/wrong_even_groups": ["group 0 goes from left to right"],
    "22_hopper_gemm/tile_at/wrong_full_last_group": [
        "There is no row 7: the last one is row 6.",
        "the last group, which has 1 row.",
    ],
    "22_hopper_gemm/tile_at/wrong_off_by_one": ["There is no column 2: the last one"],
    "22_hopper_gemm/tile_at/wrong_rows_turn": ["each column goes from top to bottom"],
    "22_hopper_gemm/delivered/wrong_moved_to_the_corner": ["moved up by 3 rows: rows"],
    "22_hopper_gemm/delivered/wrong_column_of_the_matrix": ["here it is column 24."],
    "22_hopper_gemm/delivered/wrong_row_of_the_matrix": ["here it is row 5."],
    "22_hopper_gemm/delivered/wrong_adds_row": ["64 of your vector and should be"],
    "22_hopper_gemm/delivered/wrong_wraps_negative": ["negative indices from the end"],
    "22_hopper_gemm/delivered/wrong_float64": ["`np.zeros` without a dtype"],
    "26_curand_cufft/torch_place/wrong_word_before_counter": [
        "right numbers, in another order"
    ],
    "26_curand_cufft/uniform/wrong_lower_bits": ["of the lower 24 bits of each word"],
    "26_curand_cufft/uniform/wrong_shift_by_24": ["shifted by 24, which leaves 8 bits"],
    "26_curand_cufft/torch_place/wrong_offset_in_fours": ["is added as it is"],
    "26_curand_cufft/torch_place/wrong_no_offset": ["is left out"],
    "26_curand_cufft/Dropout/wrong_rounds_down": ["30 / 4 is rounded down"],
    "26_curand_cufft/Dropout/wrong_counts_elements": ["the offset counts numbers"],
    "26_curand_cufft/Dropout/wrong_scale_twice": [
        "multiplied by 1 / (1 - p) twice",
        "1.333 times what it should be",
    ],
    "26_curand_cufft/Dropout/wrong_not_scaled_back": ["is not multiplied by"],
    "26_curand_cufft/Dropout/wrong_no_mask_back": ["gradient is returned as it is"],
    "26_curand_cufft/spectra/wrong_size_of_the_results": [
        "transforms 5 samples of each channel, and x has 8"
    ],
    "26_curand_cufft/convolve/wrong_wide_spectra": [
        "the arrays of the spectra have 14 columns"
    ],
    "28_multi_gpu/shift/wrong_direction": [
        "`out` on rank 0 has rank 1's x, and should have rank 2's.",
    ],
    "28_multi_gpu/ring_all_reduce/wrong_chunks_upwards": [
        "In step 2, rank 0 sends elements 4 to 7, which have only its own numbers.",
    ],
    "28_multi_gpu/ring_all_reduce/wrong_remainder_left_out": [
        "No message of rank 0 contains x[8]",
    ],
    "30_tensors/merge/wrong_compares_the_left": [
        "6 elements with stride 4, that of dimension 1"
    ],
    "30_tensors/expanded/wrong_backwards": ["dimension d of the target"],
    "32_extensions/poly/wrong_tensor_is_an_attribute": [
        "`ctx.x` is an attribute that keeps x"
    ],
    "32_extensions/poly_forward/wrong_grid": ["512 threads in all, for 533 elements"],
    "32_extensions/poly_forward/wrong_gaps": ["is what the check puts into the gaps"],
    "32_extensions/poly_forward/wrong_rows_in_columns_out": [
        "x was read row by row, and the result, whose strides are (1, 13),"
    ],
    "32_extensions/poly/wrong_grad_twice": ["and it gives four times it."],
    "32_extensions/poly/wrong_swapped": ["the incoming gradient and x are exchanged"],
    "32_extensions/poly/wrong_saves_output": [
        "the backward uses the result in place of x"
    ],
    "32_extensions/poly/wrong_numbers_swapped": ["if a and b are exchanged"],
    "32_extensions/poly/wrong_not_squared": ["if x is not squared"],
    "32_extensions/bias_relu/wrong_divided": [
        "changes with `x[1]` and `bias[0]`, and should change with"
    ],
    "32_extensions/bias_relu/wrong_relu_first": ["should change with `x[1]` and"],
    "32_extensions/bias_relu/wrong_any_dimensions": ["How many does it take"],
    "32_extensions/tile_sums/wrong_int": ["3, for dimension 0 of the result"],
    "32_extensions/bias_gelu/wrong_keeps_an_axis": [
        "(1, 4) for bias, and bias has (4,)"
    ],
    "32_extensions/bias_gelu/wrong_not_summed": ["a gradient with the shape"],
    "32_extensions/steep/wrong_unpacked_backwards": [
        "in `grad`, and not with those in `x`"
    ],
    "32_extensions/steep/wrong_not_for_slope": [
        "No backward of this cell is registered for slope"
    ],
    "33_training_speed/prepare/wrong_by_channel": ["mirrors channel k of every image"],
    "33_training_speed/damped/wrong_detached": ["if the scale counts as a constant"],
    "33_training_speed/prepare/wrong_rows": ["the images are turned upside down"],
    "33_training_speed/accumulate/wrong_one_backward": [
        "The model runs on all 3 parts before a backward."
    ],
    "33_training_speed/accumulate/wrong_whole_batch": ["on all 40 samples"],
    "33_training_speed/within/wrong_keep_recomputed": [
        "5 of the 8 blocks keep their activations, and `keep` is 3."
    ],
    "33_training_speed/within/wrong_one_too_few": [
        "4 of the 8 blocks keep their activations, and `keep` is 3."
    ],
    "33_training_speed/within/wrong_one_too_many": [
        "2 of the 8 blocks keep their activations, and `keep` is 3."
    ],
    "33_training_speed/within/wrong_first_kept": [
        "while block 8 is run again, the activations of 4 blocks are alive",
        "x = block(x): runs blocks 1 to 3",
    ],
    "33_training_speed/within/wrong_one_segment": ["One checkpoint has blocks 1 to 5."],
    "33_training_speed/within/wrong_none_kept": [
        "All 8 blocks keep their activations, and `keep` is 0."
    ],
    "33_training_speed/within/wrong_also_plainly": [
        "Blocks 1 to 5 run 3 times: on line 6, on line 8 and in the backward."
    ],
    "33_training_speed/clip_/wrong_matrix_norm": ["is its largest singular value"],
    "33_training_speed/accumulate/wrong_attached": ["The result requires a gradient"],
    "33_training_speed/as_graph/wrong_clone_inside": [
        "The copy is part of the graph, too"
    ],
    "33_training_speed/as_graph/wrong_first_on_zeros": [
        "values that are not those of the first batch"
    ],
    "33_training_speed/train/wrong_autocast_untyped": [
        "Autocast is entered without a dtype. On a GPU, its default is float16."
    ],
    "33_training_speed/train/wrong_bf16_weights": [
        "the model's weights are bfloat16; they were float32"
    ],
    "33_training_speed/train/wrong_clipped_alone": [
        "if each gradient is scaled by its own norm",
        "have a common norm of",
    ],
    "33_training_speed/train/wrong_optimiser_anew": [
        "6 different optimisers step in one call"
    ],
    "33_training_speed/train/wrong_loop_optimiser": [
        "One step of the optimiser runs 62 operators",
        "optimiser.step(): 372 operators",
    ],
    "33_training_speed/train/wrong_zeroed_too_early": [
        "No gradient is left when the optimiser steps."
    ],
    "33_training_speed/train/wrong_row_major": ["Of 36 convolutions, "],
    "33_training_speed/train/wrong_weights_row_major": [
        "get weights that are not channels-last"
    ],
    "34_diffusion/phases/wrong_middle_in_both": ["is in both taps"],
    "34_diffusion/worth/wrong_three_times_added": [
        "all three times of a call are added"
    ],
    "35_mnist_cnn/conv_weights/wrong_turned": ["p and q are mirrored"],
    "35_mnist_cnn/conv_weights/wrong_rows_turned": ["p is mirrored"],
    "35_mnist_cnn/conv_weights/wrong_taps_transposed": ["p and q are exchanged"],
    "35_mnist_cnn/conv_weights/wrong_last_image": ["has only its last image"],
    "35_mnist_cnn/update/wrong_old_copy": [
        "w2[0] is -2.75 and should be -2.625",
        "as it was before the step",
    ],
    "35_mnist_cnn/update/wrong_whole_bits": ["stored as an integer"],
    "35_mnist_cnn/norm_backward/wrong_thread_0_calls": ["thread 0 alone calls it"],
    "35_mnist_cnn/conv_pool/wrong_order_of_a": [
        "the second word of a is (row g, word t + 4)"
    ],
    "35_mnist_cnn/head/wrong_sum_not_mean": ["are 2 times what they should be"],
    "37_decoding/merge_slices/wrong_first_row_twice": ["with y = 0 are counted twice"],
    "37_decoding/merge_slices/wrong_multiplied_by_weight": [
        "as if it had been divided by it"
    ],
    "37_decoding/step_costs/wrong_keys_alone": ["That explains `apart`, too"],
    "37_decoding/one_query/wrong_weight_over_warp": ["is added up over the warp"],
    "37_decoding/split_keys/wrong_rest_in_the_last": [
        "the last slice has the rest",
        "takes keys 0 and 1, and should take keys 0 to 2",
    ],
    "37_decoding/split_keys/wrong_plus_one": ["rounded down, plus 1"],
    "37_decoding/split_keys/wrong_as_equal_as_possible": ["as equal as possible"],
    "37_decoding/paged_group/wrong_slices_of_whole_pages": [
        "slices are made of whole pages",
        "takes keys 0 to 7, and should take keys 0 to 4",
    ],
    "37_decoding/paged_group/wrong_keys_of_the_slice": ["computed as if it did"],
    "37_decoding/paged_group/wrong_page_of_the_slice": ["as if its slice began"],
    "37_decoding/paged_group/wrong_slices_from_key_0": ["every slice begins at key 0"],
}
# What it says where there is a compiler.
COMPILES = {
    "12_global_memory/polynomial/wrong_power_of_a_variable": [
        "`x[i] ** k` is computed in float64",
        "float64 on 1 line.",
    ],
}


def missing(answer: str, verdict: Verdict) -> list[str]:
    """Return the parts that the verdict on an answer does not say, though it should."""
    lines = [(place.text.partition("  # <-")[0], n) for place, n in verdict.places]
    notes = [f"{text}: {note}" for text, note in lines]
    found = " ".join([verdict.message, verdict.why, verdict.when, *notes])
    wanted = list(SAID.get(answer, ()))
    if not toolkit.find().missing:
        wanted += COMPILES.get(answer, ())
    return [part for part in wanted if part not in found]
