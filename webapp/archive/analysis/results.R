# Results of the study: redraws the figures of its results page from the tables beside this script, and computes its
# means, intervals and tests again. Base R alone: `Rscript results.R` prints the tables and draws into Rplots.pdf;
# in RStudio, source the file. dictionary.md says what every column means.

read <- function(name) {
  # An arm may be called NA: only an empty cell is a missing value.
  read.csv(name, na.strings = "", colClasses = c(participant = "character", arm = "character"))
}
results <- read("results.csv")
rounds <- read("rounds.csv")
codebook <- read.csv("codebook.csv", na.strings = "", colClasses = "character")
arms <- unique(results$arm)
counted <- results[results$counted == 1, ]

# A value belongs to a participant, or to a panel that judged together: what somebody judged twice in one arm is
# averaged first. Scores of different tasks are not compared.
counted$preferred_share <- ifelse(counted$compared > 0, counted$preferred / counted$compared, NA)
counted$drawn_share <- ifelse(counted$choices > 0, counted$drawn / counted$choices, NA)

values_by_arm <- function(rows, column) {
  rows <- rows[!is.na(rows[[column]]), ]
  present <- arms[arms %in% rows$arm]
  groups <- lapply(present, function(arm) {
    own <- rows[rows$arm == arm, ]
    people <- factor(own$participant, levels = unique(own$participant))
    values <- tapply(own[[column]], people, mean)
    setNames(as.numeric(values), names(values))
  })
  setNames(groups, present)
}

groups <- list()
for (task in unique(counted$task)) {
  groups[[paste("Final score of the winner,", task)]] <- values_by_arm(counted[counted$task == task, ], "score")
}
groups[["Preferred in votes on pairs"]] <- values_by_arm(counted, "preferred_share")
scores <- codebook[codebook$kind == "Score", ]
for (at in seq_len(nrow(scores))) {
  name <- paste0(sub(",.*", "", scores$question[at]), " (", scores$variable[at], "): ", scores$questionnaire[at])
  groups[[name]] <- values_by_arm(counted, scores$variable[at])
}
if (any(counted$drawn > 0)) groups[["Could not judge"]] <- values_by_arm(counted, "drawn_share")
groups[["Seconds to a choice"]] <- values_by_arm(counted, "seconds_choosing")
groups <- Filter(length, groups)

# Means with their 95% intervals (Student's t).
summarize <- function(values) {
  n <- length(values)
  half <- if (n > 1) qt(0.975, n - 1) * sd(values) / sqrt(n) else NA
  data.frame(n = n, mean = mean(values), deviation = sd(values), low = mean(values) - half, high = mean(values) + half)
}
means <- do.call(rbind, lapply(names(groups), function(name) {
  do.call(rbind, lapply(names(groups[[name]]), function(arm) {
    cbind(data.frame(measure = name, arm = arm), summarize(groups[[name]][[arm]]))
  }))
}))

# Differences, the second arm minus the first. Different people in the two arms: Welch's t test. The same people in
# both (most of those who have a value in either): the paired t test over these people. g is Hedges' g, with its
# large-sample interval.
compare <- function(a, b) {
  both <- intersect(names(a), names(b))
  paired <- length(both) >= 2 && length(both) >= length(a) + length(b) - 2 * length(both)
  if (paired) {
    a <- a[both]
    b <- b[both]
  }
  n <- length(a)
  m <- length(b)
  found <- data.frame(
    difference = mean(b) - mean(a), low = NA, high = NA, g = NA, g_low = NA, g_high = NA,
    test = if (paired) "paired t test" else "Welch's t test", p = NA
  )
  varies <- if (paired) length(unique(b - a)) > 1 else length(unique(a)) + length(unique(b)) > 2
  if (min(n, m) < 2 || !varies) return(found)
  test <- t.test(b, a, paired = paired)
  freedom <- if (paired) n - 1 else n + m - 2
  scale <- if (paired) sd(b - a) else sqrt(((n - 1) * var(a) + (m - 1) * var(b)) / freedom)
  g <- (1 - 3 / (4 * freedom - 1)) * found$difference / scale
  error <- if (paired) sqrt(1 / n + g^2 / (2 * n)) else sqrt((n + m) / (n * m) + g^2 / (2 * (n + m)))
  found[c("low", "high", "g", "g_low", "g_high", "p")] <-
    c(test$conf.int, g, g - qnorm(0.975) * error, g + qnorm(0.975) * error, test$p.value)
  found
}
# p_holm is corrected over all pairs of arms of a measure; the intervals are not corrected.
comparisons <- do.call(rbind, lapply(names(groups), function(name) {
  if (length(groups[[name]]) < 2) return(NULL)
  pairs <- combn(names(groups[[name]]), 2, simplify = FALSE)
  found <- do.call(rbind, lapply(pairs, function(pair) {
    cbind(
      data.frame(measure = name, first = pair[1], second = pair[2]),
      compare(groups[[name]][[pair[1]]], groups[[name]][[pair[2]]])
    )
  }))
  found$p_holm <- p.adjust(found$p, "holm")
  found
}))
print(means, row.names = FALSE)
print(comparisons, row.names = FALSE)

# Figures. A point is one participant or panel; the square is the arm's mean with its 95% interval. Of two arms the
# title says the difference with its interval, and p.
describe_difference <- function(name) {
  own <- comparisons[comparisons$measure == name, ]
  if (is.null(own) || nrow(own) != 1 || is.na(own$p)) return("")
  with(own, sprintf("\n%s minus %s: %.4g (%.4g to %.4g), p = %.2g", second, first, difference, low, high, p))
}
for (name in names(groups)) {
  own <- means[means$measure == name, ]
  limits <- range(unlist(groups[[name]]), own$low, own$high, na.rm = TRUE)
  plot(NULL, xlim = c(0.5, nrow(own) + 0.5), ylim = limits, xaxt = "n", xlab = "arm", ylab = "", main = paste0(name, describe_difference(name)))
  axis(1, seq_len(nrow(own)), own$arm)
  for (place in seq_len(nrow(own))) {
    values <- groups[[name]][[own$arm[place]]]
    points(seq(place - 0.26, place + 0.06, length.out = length(values)), values)
    segments(place + 0.3, own$low[place], place + 0.3, own$high[place])
    points(place + 0.3, own$mean[place], pch = 15)
  }
}

# The score of each round's pick, and what people answered after the rounds, by arm: mean with 95% interval.
summarize_rounds <- function(rows, column) {
  rows <- rows[!is.na(rows[[column]]), ]
  do.call(rbind, lapply(arms, function(arm) {
    own <- rows[rows$arm == arm, ]
    do.call(rbind, lapply(sort(unique(own$round)), function(number) {
      at <- own[own$round == number, ]
      cbind(data.frame(arm = arm, round = number), summarize(as.numeric(tapply(at[[column]], at$participant, mean))))
    }))
  }))
}
name_column <- function(column) {
  one <- codebook[codebook$variable == column, ][1, ]
  if (one$kind == "Score") paste0(sub(",.*", "", one$question), " (", column, "): ", one$questionnaire) else one$question
}
draw_rounds <- function(title, all_lines) {
  limits <- range(all_lines$mean, all_lines$low, all_lines$high, na.rm = TRUE)
  plot(NULL, xlim = range(all_lines$round), ylim = limits, xlab = "round", ylab = "", main = title)
  for (i in seq_along(arms)) {
    line <- all_lines[all_lines$arm == arms[i], ]
    lines(line$round, line$mean, type = "b", lty = i, pch = i)
    segments(line$round, line$low, line$round, line$high, lty = i)
  }
  legend("topleft", arms, lty = seq_along(arms), pch = seq_along(arms))
}
judged <- rounds[rounds$counted == 1, ]
curves <- list()
for (task in unique(judged$task)) {
  title <- paste("Final score of the pick of each round,", task)
  curves[[title]] <- summarize_rounds(judged[judged$task == task, ], "score")
}
for (column in names(rounds)[seq_along(rounds) > match("best_score", names(rounds))]) {
  found <- summarize_rounds(judged, column)
  if (length(unique(found$round)) > 1) curves[[paste(name_column(column), "after each round")]] <- found
}
for (title in names(curves)) draw_rounds(title, curves[[title]])
by_round <- do.call(rbind, lapply(names(curves), function(title) cbind(data.frame(measure = title), curves[[title]])))
print(by_round, row.names = FALSE)

# Time: medians by arm.
if (nrow(counted)) {
  print(aggregate(
    cbind(seconds_choosing, minutes_waiting = seconds_waiting / 60, minutes_total = seconds_total / 60) ~ arm,
    counted, median, na.action = na.pass, na.rm = TRUE
  ))
}
